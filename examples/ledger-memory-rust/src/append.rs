//! Claiming, writing and deleting.

use crate::store::{key, Entry, Key, Sandbox, Segment, Store, Tombstone};
use crate::MAX_ENTRY;
use alineo::column::{entry as e, segment as s};
use alineo::{code, host, DeleteReply, Error, Head, LedgerAppendReply, SandboxKey, Value};
use std::collections::HashMap;

pub fn open(store: &mut Store, k: SandboxKey) -> Result<Head, Error> {
    let k = key(k);
    store.last_epoch += 1; // one count for all: it is higher than every earlier claim, deleted sandboxes included
    let epoch = store.last_epoch;
    let sandbox = store.sandboxes.entry(k.clone()).or_default();
    sandbox.epoch = epoch;
    let mut head = Head { epoch, last_step: -1, entries: sandbox.counted(), ..Head::default() };
    if let Some(last) = sandbox.segments.last() {
        head.hash = last.hash.clone();
        head.segment_id = last.id.clone();
    }
    for (_, entry) in store.entries_of(&k) {
        head.last_step = head.last_step.max(entry.step);
        head.max_ts = head.max_ts.max(entry.ts);
    }
    Ok(head)
}

/// Applies a batch: it is looked at whole before anything is changed.
pub fn append(
    store: &mut Store,
    segments: Vec<Vec<Value>>,
    entries: Vec<Vec<Value>>,
) -> Result<LedgerAppendReply, Error> {
    let mut fresh: HashMap<i64, (Key, Segment)> = HashMap::new();
    for (index, row) in segments.iter().enumerate() {
        let k = (text(row, s::NAME)?, text(row, s::SANDBOX_ID)?);
        let epoch = number(row, s::EPOCH)? as u64;
        let segment = Segment {
            first: 0,
            last: 0,
            id: blob(row, s::ID)?,
            previous: blob(row, s::PREVIOUS)?,
            hash: blob(row, s::HASH)?,
            leaves: blob(row, s::LEAVES)?,
        };
        let conflict = || Error::conflict("the sandbox's ledger has moved on").with("segment", index);
        let sandbox = store.sandboxes.get(&k).ok_or_else(conflict)?;
        if sandbox.epoch == epoch && sandbox.hash() == segment.previous {
            fresh.insert(index as i64, (k, segment));
        } else if !sandbox.segments.iter().any(|old| old.id == segment.id && old.hash == segment.hash) {
            return Err(conflict());
        }
    }
    let mut written = Vec::new();
    for (index, row) in entries.into_iter().enumerate() {
        let wrong = |err: Error| err.with("entry", index);
        let segment = number(&row, e::SEGMENT).map_err(wrong)?;
        if segment < 0 || segment >= segments.len() as i64 {
            return Err(wrong(Error::invalid("an entry of no segment")));
        }
        if let Some((k, _)) = fresh.get(&segment) {
            written.push((segment, entry(k, row).map_err(wrong)?));
        }
    }
    if fresh.is_empty() {
        return Ok(LedgerAppendReply { already: true });
    }
    for (index, entry) in written {
        store.last_id += 1;
        let id = store.last_id;
        if let Some((k, segment)) = fresh.get_mut(&index) {
            if segment.first == 0 {
                segment.first = id;
            }
            segment.last = id;
            let sandbox = store.sandboxes.entry(k.clone()).or_default();
            sandbox.order.insert((entry.ts, id), ());
            sandbox.max_ts = sandbox.max_ts.max(entry.ts);
            store.entries.insert(id, entry);
        }
    }
    for (_, (k, segment)) in fresh {
        store.sandboxes.entry(k).or_default().segments.push(segment);
    }
    Ok(LedgerAppendReply::default())
}

fn entry(k: &Key, mut row: Vec<Value>) -> Result<Entry, Error> {
    let mut take = |column: usize| row.get_mut(column).map(std::mem::take).unwrap_or_default();
    let (payload, error, branch) = (take(e::PAYLOAD), take(e::ERROR), take(e::BRANCH));
    // A large cell was read on its own, as text; a payload is JSON all the same.
    let payload = match payload {
        Value::Text(bytes) => Value::Json(bytes),
        other => other,
    };
    let size = payload.as_bytes().unwrap_or_default().len() + error.as_bytes().unwrap_or_default().len();
    if size > MAX_ENTRY {
        return Err(Error::new(
            code::INVALID,
            format!("an entry of {size} bytes; this ledger takes at most {MAX_ENTRY}"),
        ));
    }
    Ok(Entry {
        key: k.clone(),
        step: number(&row, e::STEP)?,
        branch,
        event: text(&row, e::EVENT)?,
        payload,
        error,
        ts: number(&row, e::TS)?,
    })
}

pub fn delete(store: &mut Store, k: SandboxKey) -> Result<DeleteReply, Error> {
    let k = key(k);
    let sandbox: Sandbox = match store.sandboxes.remove(&k) {
        None => return Ok(DeleteReply::default()),
        Some(sandbox) => sandbox,
    };
    for (_, id) in sandbox.order.keys() {
        store.entries.remove(id);
    }
    let rows = sandbox.order.len() as u64;
    if rows > 0 || !sandbox.segments.is_empty() {
        let earlier = store.tombstones.get(&k).map_or(0, |t| t.entries);
        let hash = sandbox.hash().to_vec();
        store.tombstones.insert(k, Tombstone { entries: earlier + rows, hash, deleted: host::now() });
    }
    Ok(DeleteReply { rows, more: false })
}

fn number(row: &[Value], column: usize) -> Result<i64, Error> {
    row.get(column).and_then(Value::as_int).ok_or_else(|| wrong(column, "a number"))
}

fn text(row: &[Value], column: usize) -> Result<String, Error> {
    row.get(column).and_then(Value::as_text).map(String::from).ok_or_else(|| wrong(column, "text"))
}

fn blob(row: &[Value], column: usize) -> Result<Vec<u8>, Error> {
    row.get(column).and_then(Value::as_bytes).map(<[u8]>::to_vec).ok_or_else(|| wrong(column, "bytes"))
}

fn wrong(column: usize, wanted: &str) -> Error {
    Error::invalid(format!("column {column} of the batch is not {wanted}"))
}
