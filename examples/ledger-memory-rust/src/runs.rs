//! Durable runs: instances, runs, their logs, and locks.

use crate::read::Bounds;
use crate::store::{cursor_of, read_cursor_of};
use alineo::column::{instance, log, log_event, run};
use alineo::table::Writer;
use alineo::*;
use std::collections::BTreeMap;

#[derive(Default)]
pub struct Runs {
    instances: BTreeMap<String, Instance>,
    runs: BTreeMap<String, Run>,
    logs: BTreeMap<String, Log>,
    locks: BTreeMap<String, Lock>,
    tokens: u64,
}

#[derive(Clone, Default)]
struct Run {
    thread: String,
    status: String,
    started: i64,
    finished: Option<i64>,
    error: Option<(String, Option<String>)>,
    usage: Vec<u8>,
    sandbox: Option<String>,
    detached: Option<i64>,
    cancel: Option<bool>,
    epoch: Option<u64>,
    secret: Vec<u8>,
    /// When the run got its status.
    since: i64,
}

#[derive(Default)]
struct Log {
    /// By offset: time, kind, data.
    events: BTreeMap<u64, (i64, String, Vec<u8>)>,
    tail: u64,
    dropped: u64,
    epoch: u64,
    closed: bool,
}

#[derive(Default)]
struct Lock {
    owner: String,
    token: String,
    fence: u64,
    until: i64,
}

fn rows(page: Writer) -> RowsReply {
    RowsReply { table: page.finish(), ..RowsReply::default() }
}

// --- instances ---

fn instance_row(i: &Instance) -> [Value; instance::COLUMNS] {
    [
        i.key.as_str().into(),
        i.provider.as_str().into(),
        i.provider_sandbox_id.as_str().into(),
        i.latest_snapshot_id.as_deref().into(),
        i.thread_id.as_str().into(),
        i.latest_run_id.as_deref().into(),
        Value::Int(i.updated_at),
    ]
}

impl Runs {
    pub fn instance(&self, key: &str) -> RowsReply {
        let mut page = Writer::new(instance::COLUMNS);
        if let Some(i) = self.instances.get(key) {
            page.row(&instance_row(i));
        }
        rows(page)
    }

    pub fn put_instance(&mut self, mut i: Instance) {
        if i.updated_at == 0 {
            i.updated_at = host::now();
        }
        self.instances.insert(i.key.clone(), i);
    }

    pub fn delete_instance(&mut self, key: &str) {
        self.instances.remove(key);
    }

    fn sandbox_of(&self, key: &str) -> Option<&str> {
        self.instances.get(key).map(|i| i.provider_sandbox_id.as_str())
    }

    pub fn put_instance_if(&mut self, request: InstancePutIf) -> Applied {
        let applied = self.sandbox_of(&request.instance.key) == request.expected.as_deref();
        if applied {
            self.put_instance(request.instance);
        }
        Applied { applied }
    }

    pub fn delete_instance_if(&mut self, request: InstanceDeleteIf) -> Applied {
        let applied = self.sandbox_of(&request.key) == Some(request.expected.as_str());
        if applied {
            self.instances.remove(&request.key);
        }
        Applied { applied }
    }

    pub fn list_instances(&self, request: InstanceListRequest) -> Result<RowsReply, Error> {
        let start = read_cursor_of(&request.cursor)?;
        let before = |i: &&Instance| request.updated_before.map_or(true, |time| i.updated_at < time);
        let mut list: Vec<&Instance> = self.instances.values().filter(before).collect();
        list.sort_by_key(|i| (i.updated_at, i.key.as_str()));
        list.retain(|i| start.as_ref().map_or(true, |(time, key)| (i.updated_at, &i.key) > (*time, key)));
        let mut bounds = Bounds::new(request.limit, 0);
        let mut page = Writer::new(instance::COLUMNS);
        let mut reply = RowsReply { cursor: request.cursor, now: host::now(), ..RowsReply::default() };
        for i in list {
            if !bounds.admits(500) {
                reply.more = true;
                break;
            }
            page.row(&instance_row(i));
            reply.cursor = cursor_of(i.updated_at, &i.key);
        }
        reply.table = page.finish();
        Ok(reply)
    }
}

// --- runs ---

fn terminal(status: &str) -> bool {
    matches!(status, "completed" | "failed" | "aborted")
}

fn run_row(id: &str, r: &Run) -> Vec<Value> {
    let (message, code) = match &r.error {
        None => (Value::Null, Value::Null),
        Some((message, code)) => (message.as_str().into(), code.as_deref().into()),
    };
    vec![
        id.into(),
        r.thread.as_str().into(),
        r.status.as_str().into(),
        Value::Int(r.started),
        r.finished.into(),
        message,
        code,
        if r.usage.is_empty() { Value::Null } else { Value::Json(r.usage.clone()) },
        r.sandbox.as_deref().into(),
        r.detached.into(),
        r.cancel.map(i64::from).into(),
        r.epoch.map(|epoch| epoch as i64).into(),
    ]
}

fn reply(outcome: u32, found: Option<(&str, &Run)>) -> RunReply {
    let table = found.map_or_else(Vec::new, |(id, r)| {
        let mut page = Writer::new(run::COLUMNS);
        page.row(&run_row(id, r));
        page.finish()
    });
    RunReply { outcome, table, ..RunReply::default() }
}

fn patched(r: &mut Run, patch: &RunPatch) -> Result<(), Error> {
    let mut after = r.clone();
    if let Some(status) = &patch.status {
        if *status != after.status {
            after.since = host::now();
        }
        after.status = status.clone();
    }
    if patch.finished_at.is_some() {
        after.finished = patch.finished_at;
    }
    if let Some(message) = &patch.error_message {
        after.error = Some((message.clone(), patch.error_code.clone()));
    }
    if !patch.usage.is_empty() {
        after.usage = patch.usage.clone();
    }
    if patch.sandbox_key.is_some() {
        after.sandbox = patch.sandbox_key.clone();
    }
    if patch.detached_since.is_some() {
        after.detached = patch.detached_since;
    }
    if patch.cancel_requested.is_some() {
        after.cancel = patch.cancel_requested;
    }
    if patch.driver_epoch.is_some() {
        after.epoch = patch.driver_epoch;
    }
    for name in &patch.clear {
        match name.as_str() {
            "finishedAt" => after.finished = None,
            "error" => after.error = None,
            "usage" => after.usage.clear(),
            "sandboxKey" => after.sandbox = None,
            "detachedSince" => after.detached = None,
            "cancelRequested" => after.cancel = None,
            "driverEpoch" => after.epoch = None,
            _ => return Err(Error::invalid(format!("a run has no field {name} to clear"))),
        }
    }
    for name in &patch.now {
        match name.as_str() {
            "finishedAt" => after.finished = Some(host::now()),
            "detachedSince" => after.detached = Some(host::now()),
            _ => return Err(Error::invalid(format!("a run has no field {name} for a time"))),
        }
    }
    *r = after;
    Ok(())
}

impl Runs {
    pub fn create_run(&mut self, request: RunCreate) -> RunReply {
        let id = request.run_id;
        if let Some(r) = self.runs.get(&id) {
            return reply(run_outcome::UNCHANGED, Some((&id, r)));
        }
        let r = Run {
            thread: request.thread_id,
            status: request.status,
            started: request.started_at.unwrap_or_else(host::now),
            sandbox: request.sandbox_key,
            secret: request.secret,
            since: host::now(),
            ..Run::default()
        };
        let answer = reply(run_outcome::CHANGED, Some((&id, &r)));
        self.runs.insert(id, r);
        answer
    }

    pub fn patch_run(&mut self, patch: RunPatch) -> Result<RunReply, Error> {
        match self.runs.get_mut(&patch.run_id) {
            None => Ok(reply(run_outcome::UNKNOWN, None)),
            Some(r) => patched(r, &patch).map(|()| reply(run_outcome::CHANGED, None)),
        }
    }

    pub fn patch_run_if(&mut self, patch: RunPatch) -> Result<RunReply, Error> {
        let id = patch.run_id.clone();
        match self.runs.get_mut(&id) {
            None => Ok(reply(run_outcome::UNKNOWN, None)),
            Some(r) if r.epoch != patch.epoch || terminal(&r.status) => {
                Ok(reply(run_outcome::UNCHANGED, Some((&id, r))))
            }
            Some(r) => patched(r, &patch).map(|()| reply(run_outcome::CHANGED, Some((&id, r)))),
        }
    }

    pub fn claim_run(&mut self, id: &str) -> RunReply {
        match self.runs.get_mut(id) {
            None => reply(run_outcome::UNKNOWN, None),
            Some(r) if r.status != "running" && r.status != "interrupted" => {
                reply(run_outcome::UNCHANGED, Some((id, r)))
            }
            Some(r) => {
                r.epoch = Some(r.epoch.unwrap_or(0) + 1);
                reply(run_outcome::CHANGED, Some((id, r)))
            }
        }
    }

    pub fn delete_run(&mut self, id: &str) -> RunReply {
        match self.runs.get(id) {
            None => reply(run_outcome::UNKNOWN, None),
            Some(r) if !terminal(&r.status) => reply(run_outcome::UNCHANGED, None),
            Some(_) => {
                self.runs.remove(id);
                reply(run_outcome::CHANGED, None)
            }
        }
    }

    pub fn run(&self, id: &str) -> RowsReply {
        self.page_of_one(self.runs.get_key_value(id))
    }

    pub fn active_run(&self, thread: &str) -> RowsReply {
        let active = self.runs.iter().filter(|(_, r)| r.thread == thread && r.status == "running");
        self.page_of_one(active.max_by_key(|(id, r)| (r.started, id.as_str())))
    }

    fn page_of_one(&self, found: Option<(&String, &Run)>) -> RowsReply {
        let mut page = Writer::new(run::COLUMNS);
        if let Some((id, r)) = found {
            page.row(&run_row(id, r));
        }
        rows(page)
    }

    pub fn secret(&self, id: &str) -> RunSecret {
        RunSecret { secret: self.runs.get(id).map_or_else(Vec::new, |r| r.secret.clone()) }
    }

    pub fn count_by_sandbox(&self, request: SandboxCountRequest) -> Count {
        let live = self.runs.iter().filter(|(id, r)| {
            !terminal(&r.status) && **id != request.except && r.sandbox.as_deref() == Some(request.sandbox_key.as_str())
        });
        Count { count: live.count() as u64 }
    }

    /// The runs of a thread, the oldest first, or all that fit, the newest first.
    pub fn list_runs(&self, request: RunListRequest, newest_first: bool) -> Result<RowsReply, Error> {
        let start = read_cursor_of(&request.cursor)?;
        let mut list: Vec<(i64, &String, &Run)> = self.runs.iter().map(|(id, r)| (r.started, id, r)).collect();
        list.retain(|(started, id, r)| {
            let behind = start.as_ref().map_or(true, |(time, key)| {
                if newest_first {
                    (*started, *id) < (*time, key)
                } else {
                    (*started, *id) > (*time, key)
                }
            });
            behind
                && (request.thread_id.is_empty() || r.thread == request.thread_id)
                && (request.status.is_empty() || r.status == request.status)
                && request.finished_before.map_or(true, |time| r.finished.map_or(false, |finished| finished < time))
        });
        list.sort_by_key(|(started, id, _)| (*started, *id));
        if newest_first {
            list.reverse();
        }
        let mut bounds = Bounds::new(request.limit, 0);
        let mut page = Writer::new(run::COLUMNS);
        let mut answer = RowsReply { cursor: request.cursor, ..RowsReply::default() };
        for (started, id, r) in list {
            if !bounds.admits(1000 + r.usage.len()) {
                answer.more = true;
                break;
            }
            page.row(&run_row(id, r));
            answer.cursor = cursor_of(started, id);
        }
        answer.table = page.finish();
        Ok(answer)
    }

    pub fn list_reclaimable(&self, request: ReclaimRequest) -> Result<RowsReply, Error> {
        let start = read_cursor_of(&request.cursor)?;
        let now = if request.now == 0 { host::now() } else { request.now };
        let latest = now.saturating_sub(request.ttl_ms.min(i64::MAX as u64) as i64);
        let waiting = |r: &Run| if request.status == "running" { r.detached } else { Some(r.since) };
        let mut list: Vec<(i64, &String, &Run)> = self
            .runs
            .iter()
            .filter(|(_, r)| r.status == request.status)
            .filter_map(|(id, r)| waiting(r).map(|since| (since, id, r)))
            .filter(|(since, id, _)| {
                *since <= latest && start.as_ref().map_or(true, |(time, key)| (*since, *id) > (*time, key))
            })
            .collect();
        list.sort_by_key(|(since, id, _)| (*since, *id));
        let mut bounds = Bounds::new(request.limit, 0);
        let mut page = Writer::new(run::COLUMNS + 1);
        let mut answer = RowsReply { cursor: request.cursor, now, ..RowsReply::default() };
        for (since, id, r) in list {
            if !bounds.admits(1000 + r.usage.len()) {
                answer.more = true;
                break;
            }
            let mut row = run_row(id, r);
            row.push(Value::Int(since));
            page.row(&row);
            answer.cursor = cursor_of(since, id);
        }
        answer.table = page.finish();
        Ok(answer)
    }
}

// --- logs ---

impl Runs {
    pub fn append_log(&mut self, request: LogAppendRequest, events: Vec<Vec<Value>>) -> Result<LogTail, Error> {
        let mut read = Vec::with_capacity(events.len());
        for mut row in events {
            let kind = row.get(log_event::KIND).and_then(Value::as_text).map(String::from);
            let data = match row.get_mut(log_event::DATA).map(std::mem::take) {
                Some(Value::Blob(bytes) | Value::Text(bytes) | Value::Json(bytes)) => bytes,
                _ => return Err(Error::invalid("an event without data")),
            };
            read.push((kind.ok_or_else(|| Error::invalid("an event without a kind"))?, data));
        }
        let empty = Log::default();
        let old = self.logs.get(&request.run_id).unwrap_or(&empty);
        if old.closed || request.epoch < old.epoch || request.after.map_or(false, |after| after != old.tail) {
            let refusal = Error::conflict("the log has another driver, another end, or is closed");
            let refusal = refusal.with("tail", old.tail).with("epoch", old.epoch);
            return Err(if old.closed { refusal.with("closed", 1) } else { refusal });
        }
        let log = self.logs.entry(request.run_id).or_default();
        log.epoch = request.epoch;
        let now = host::now();
        for (kind, data) in read {
            log.tail += 1;
            log.events.insert(log.tail, (now, kind, data));
        }
        Ok(LogTail { tail: log.tail })
    }

    pub fn read_log(&self, request: LogReadRequest) -> LogPage {
        let empty = Log::default();
        let from = self.logs.get(&request.run_id).unwrap_or(&empty);
        let mut bounds = Bounds::new(request.limit, request.max_bytes);
        let mut page = Writer::new(log::COLUMNS);
        let mut answer = LogPage {
            tail: from.tail,
            dropped: from.dropped,
            epoch: from.epoch,
            closed: from.closed,
            ..LogPage::default()
        };
        for (offset, (ts, kind, data)) in from.events.range(request.after.saturating_add(1)..) {
            if !bounds.admits(50 + kind.len() + data.len()) {
                answer.more = true;
                break;
            }
            page.row(&[Value::Int(*offset as i64), Value::Int(*ts), kind.as_str().into(), Value::Blob(data.clone())]);
        }
        answer.table = page.finish();
        answer
    }

    pub fn close_log(&mut self, run: String) {
        self.logs.entry(run).or_default().closed = true;
    }

    pub fn truncate_log(&mut self, run: &str) -> DeleteReply {
        self.logs.get_mut(run).map_or_else(DeleteReply::default, |log| {
            let rows = log.events.len() as u64;
            log.events.clear();
            if rows > 0 {
                log.dropped = log.tail;
            }
            DeleteReply { rows, more: false }
        })
    }
}

// --- locks ---

impl Runs {
    pub fn acquire(&mut self, request: LockRequest) -> LockReply {
        let now = host::now();
        let lock = self.locks.entry(request.key).or_default();
        if !lock.token.is_empty() && now < lock.until {
            return LockReply {
                owner: lock.owner.clone(),
                left_ms: (lock.until - now) as u64,
                now,
                ..LockReply::default()
            };
        }
        lock.fence += 1;
        self.tokens += 1;
        lock.token = format!("{}-{now:x}", self.tokens);
        lock.owner = request.owner.clone();
        lock.until = now.saturating_add(request.ttl_ms.min(i64::MAX as u64) as i64);
        LockReply {
            acquired: true,
            token: lock.token.clone(),
            fence: lock.fence,
            owner: request.owner,
            left_ms: request.ttl_ms,
            now,
        }
    }

    fn held(&mut self, request: &LeaseRequest) -> Option<&mut Lock> {
        let now = host::now();
        let lock = self.locks.get_mut(&request.key)?;
        Some(lock).filter(|lock| !request.token.is_empty() && lock.token == request.token && now < lock.until)
    }

    pub fn renew(&mut self, request: LeaseRequest) -> Applied {
        let lock = self.held(&request).map(|lock| {
            lock.until = host::now().saturating_add(request.ttl_ms.min(i64::MAX as u64) as i64);
        });
        Applied { applied: lock.is_some() }
    }

    pub fn release(&mut self, request: LeaseRequest) -> Applied {
        let lock = self.held(&request).map(|lock| lock.token.clear());
        Applied { applied: lock.is_some() }
    }
}
