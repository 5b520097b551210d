//! What a plugin may ask of the host: log lines, its databases, and the rows behind handles.

use crate::error::Error;
use crate::messages::*;
use crate::ops::op;
use crate::table::{Table, Value};
use crate::wire::Message;

/// Levels of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    Trace = 1,
    Debug = 2,
    Info = 3,
    Warn = 4,
    Error = 5,
}

/// Writes a log line.
pub fn log(level: Level, line: &str) {
    sys::log(level as u32, line.as_bytes());
}

/// The time, in Unix milliseconds.
pub fn now() -> i64 {
    sys::now()
}

/// Waits so many milliseconds. What is left of the call's time goes on.
pub fn sleep(milliseconds: u64) {
    sys::sleep(milliseconds);
}

/// Asks the host for an operation.
pub fn call<Request: Message, Reply: Message>(operation: u32, request: &Request) -> Result<Reply, Error> {
    match sys::call(operation, &request.to_bytes()) {
        (0, answer) => Reply::decode(&answer).map_err(Error::from),
        (_, answer) => Err(Error::decode(&answer).unwrap_or_else(Error::from)),
    }
}

/// Runs a program on a granted database, in one transaction.
pub fn sql(program: &SQLExec) -> Result<SQLExecReply, Error> {
    call(op::SQL_EXEC, program)
}

/// All rows behind a handle, cells of any size included. For batches whose rows fit into the plugin's memory.
pub fn rows(handle: u64) -> Result<Vec<Vec<Value>>, Error> {
    let mut all = Vec::new();
    loop {
        let first = all.len() as u64;
        let page: BatchRows = call(op::BATCH_READ, &BatchRead { handle, first, ..BatchRead::default() })?;
        let mut table = Table::decode(&page.table)?;
        if table.rows.is_empty() {
            return Ok(all);
        }
        for cut in page.cut {
            let (row, column) = (cut >> 8, cut & 0xff);
            let bytes = cell(handle, row, column)?;
            let index =
                row.checked_sub(first).ok_or_else(|| Error::internal("the host cut a row that it did not send"))?;
            let value = table.rows.get_mut(index as usize).and_then(|row| row.get_mut(column as usize));
            *value.ok_or_else(|| Error::internal("the host cut a cell that it did not send"))? = Value::Text(bytes);
        }
        all.append(&mut table.rows);
    }
}

/// The whole of one text, JSON or blob cell.
pub fn cell(handle: u64, row: u64, column: u64) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    loop {
        let offset = bytes.len() as u64;
        let mut part: BatchBytes = call(op::BATCH_CELL, &BatchCell { handle, row, column, offset, length: 0 })?;
        let empty = part.data.is_empty();
        bytes.append(&mut part.data);
        if empty || bytes.len() as u64 >= part.total {
            return Ok(bytes);
        }
    }
}

#[cfg(target_family = "wasm")]
mod sys {
    #[link(wasm_import_module = "alineo_v1")]
    extern "C" {
        #[link_name = "call"]
        fn host_call(op: u32, ptr: *const u8, size: usize) -> u64;
        #[link_name = "take"]
        fn host_take(ptr: *mut u8);
        #[link_name = "log"]
        fn host_log(level: u32, ptr: *const u8, size: usize);
    }

    #[link(wasm_import_module = "wasi_snapshot_preview1")]
    extern "C" {
        fn clock_time_get(clock: u32, precision: u64, nanoseconds: *mut u64) -> u32;
        fn poll_oneoff(subscriptions: *const u64, events: *mut u64, count: usize, happened: *mut u32) -> u32;
    }

    pub fn sleep(milliseconds: u64) {
        // User data, the kind (a clock), which clock (the monotonic one), for how long, precision, and no flags.
        let subscription = [0, 0, 1, milliseconds.saturating_mul(1_000_000), 0, 0];
        let (mut event, mut happened) = ([0u64; 4], 0);
        // SAFETY: one subscription is 48 bytes, and one event is 32.
        unsafe { poll_oneoff(subscription.as_ptr(), event.as_mut_ptr(), 1, &mut happened) };
    }

    pub fn now() -> i64 {
        let mut nanoseconds = 0;
        // SAFETY: the host writes one u64.
        unsafe { clock_time_get(0, 1_000_000, &mut nanoseconds) };
        (nanoseconds / 1_000_000) as i64
    }

    pub fn log(level: u32, line: &[u8]) {
        // SAFETY: the host reads line before it returns.
        unsafe { host_log(level, line.as_ptr(), line.len()) }
    }

    pub fn call(op: u32, request: &[u8]) -> (u32, Vec<u8>) {
        // SAFETY: the host reads request before it returns, and writes exactly the length that it told.
        unsafe {
            let packed = host_call(op, request.as_ptr(), request.len());
            let mut answer = vec![0u8; packed as u32 as usize];
            host_take(answer.as_mut_ptr());
            ((packed >> 32) as u32, answer)
        }
    }
}

/// Outside of a host, in unit tests of a plugin, there is nobody to ask.
#[cfg(not(target_family = "wasm"))]
mod sys {
    use crate::messages::{code, Error};
    use crate::wire::Message;

    pub fn sleep(milliseconds: u64) {
        std::thread::sleep(std::time::Duration::from_millis(milliseconds));
    }

    pub fn now() -> i64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |d| d.as_millis() as i64)
    }

    pub fn log(level: u32, line: &[u8]) {
        eprintln!("[{}] {}", level, String::from_utf8_lossy(line));
    }

    pub fn call(_op: u32, _request: &[u8]) -> (u32, Vec<u8>) {
        let error = Error { code: code::DENIED, message: "there is no host here".into(), ..Error::default() };
        (code::DENIED, error.to_bytes())
    }
}
