//! Lists of sandboxes, and what those who operate the ledger ask for.

use crate::read::Bounds;
use crate::store::{cursor, key, key_cursor, read_cursor, read_key_cursor, Key, Sandbox, Store};
use alineo::column::{head, sandbox, stored, tombstone};
use alineo::table::Writer;
use alineo::{json, Error, ListSandboxesRequest, PageRequest, RowsReply, SandboxKey, SandboxPageRequest, Usage, Value};
use std::ops::Bound;

/// One sandbox, summed up.
struct Details {
    key: Key,
    started: i64,
    completed: Option<i64>,
    execs: i64,
    run_id: String,
    resource: Option<String>,
    team: Option<String>,
    parent: Option<String>,
    created_id: i64,
}

impl Details {
    fn status(&self) -> &'static str {
        if self.completed.is_some() {
            "completed"
        } else {
            "running"
        }
    }

    fn row(&self) -> [Value; sandbox::COLUMNS] {
        [
            self.key.0.as_str().into(),
            self.key.1.as_str().into(),
            self.status().into(),
            Value::Int(self.started),
            self.completed.into(),
            Value::Int(self.execs),
            self.run_id.as_str().into(),
            self.resource.as_deref().into(),
            self.team.as_deref().into(),
            self.parent.as_deref().into(),
            Value::Int(self.created_id),
        ]
    }
}

/// Sums a sandbox up, if it has `sandbox.created`.
fn details(store: &Store, key: &Key) -> Option<Details> {
    let mut found: Option<Details> = None;
    let (mut completed, mut execs) = (None, 0);
    for (id, entry) in store.entries_of(key) {
        match entry.event.as_str() {
            "sandbox.created" if found.is_none() => {
                let field = |name| json::string_field(entry.payload_bytes(), name);
                found = Some(Details {
                    key: key.clone(),
                    started: entry.ts,
                    completed: None,
                    execs: 0,
                    run_id: field("runId").unwrap_or_else(|| key.1.clone()),
                    resource: field("resourceId"),
                    team: field("teamId"),
                    parent: field("parentSandboxId"),
                    created_id: id,
                });
            }
            "sandbox.closed" => completed = completed.max(Some(entry.ts)),
            "exec.completed" => execs += 1,
            _ => {}
        }
    }
    found.map(|d| Details { completed, execs, ..d })
}

pub fn list_sandboxes(store: &Store, request: ListSandboxesRequest) -> Result<RowsReply, Error> {
    let start = read_cursor(&request.cursor)?;
    let mut bounds = Bounds::new(request.limit.unwrap_or(0), 0);
    let mut page = Writer::new(sandbox::COLUMNS);
    let mut reply = RowsReply { cursor: request.cursor.clone(), ..RowsReply::default() };
    if request.limit == Some(0) {
        reply.table = page.finish();
        return Ok(reply);
    }
    let is = |filter: &str, value: Option<&str>| filter.is_empty() || value == Some(filter);
    let mut list: Vec<Details> = store.sandboxes.keys().filter_map(|key| details(store, key)).collect();
    list.retain(|d| {
        is(&request.name, Some(&d.key.0))
            && is(&request.status, Some(d.status()))
            && is(&request.run_id, Some(&d.run_id))
            && is(&request.resource_id, d.resource.as_deref())
            && is(&request.team_id, d.team.as_deref())
            && d.key.1.starts_with(&request.id_prefix)
            && request.before.map_or(true, |before| d.started < before)
            && start.map_or(true, |start| (d.started, d.created_id) < start)
    });
    list.sort_by_key(|d| std::cmp::Reverse((d.started, d.created_id)));
    for d in list {
        if !bounds.admits(200) {
            reply.more = true;
            break;
        }
        page.row(&d.row());
        reply.cursor = cursor(d.started, d.created_id);
    }
    reply.table = page.finish();
    Ok(reply)
}

fn one(found: Option<Details>) -> Result<RowsReply, Error> {
    let mut page = Writer::new(sandbox::COLUMNS);
    if let Some(d) = found {
        page.row(&d.row());
    }
    Ok(RowsReply { table: page.finish(), ..RowsReply::default() })
}

pub fn get_sandbox(store: &Store, k: SandboxKey) -> Result<RowsReply, Error> {
    one(details(store, &key(k)))
}

pub fn find_sandbox(store: &Store, id: &str) -> Result<RowsReply, Error> {
    let same = store.sandboxes.keys().filter(|key| key.1 == id);
    one(same.filter_map(|key| details(store, key)).max_by_key(|d| (d.started, d.created_id)))
}

/// Pages through a map in the order of its keys.
fn page_of<'a, T: 'a>(
    list: impl Iterator<Item = (&'a Key, &'a T)>,
    request: &PageRequest,
    columns: usize,
    row: impl Fn(&Key, &T) -> Vec<Value>,
) -> Result<RowsReply, Error> {
    let mut bounds = Bounds::new(request.limit, request.max_bytes);
    let mut page = Writer::new(columns);
    let mut reply = RowsReply { cursor: request.cursor.clone(), ..RowsReply::default() };
    for (key, value) in list {
        if !bounds.admits(200 + key.0.len() + key.1.len()) {
            reply.more = true;
            break;
        }
        page.row(&row(key, value));
        reply.cursor = key_cursor(key);
    }
    reply.table = page.finish();
    Ok(reply)
}

fn behind(cursor: &[u8]) -> Result<(Bound<Key>, Bound<Key>), Error> {
    Ok((read_key_cursor(cursor)?.map_or(Bound::Unbounded, Bound::Excluded), Bound::Unbounded))
}

pub fn list_heads(store: &Store, request: PageRequest) -> Result<RowsReply, Error> {
    let written = |s: &Sandbox| !s.order.is_empty() || !s.segments.is_empty();
    let list = store.sandboxes.range(behind(&request.cursor)?).filter(|(_, s)| written(s));
    page_of(list, &request, head::COLUMNS, |key, s| {
        vec![
            key.0.as_str().into(),
            key.1.as_str().into(),
            Value::Int(s.epoch as i64),
            Value::Blob(s.hash().to_vec()),
            Value::Blob(s.segments.last().map_or_else(Vec::new, |last| last.id.clone())),
            Value::Int(s.counted() as i64),
            Value::Int(s.max_ts),
        ]
    })
}

pub fn list_tombstones(store: &Store, request: PageRequest) -> Result<RowsReply, Error> {
    let list = store.tombstones.range(behind(&request.cursor)?);
    page_of(list, &request, tombstone::COLUMNS, |key, t| {
        vec![
            key.0.as_str().into(),
            key.1.as_str().into(),
            Value::Int(t.entries as i64),
            Value::Blob(t.hash.clone()),
            Value::Int(t.deleted),
        ]
    })
}

pub fn list_segments(store: &Store, request: SandboxPageRequest) -> Result<RowsReply, Error> {
    let start = read_cursor(&request.cursor)?.map_or(0, |(_, index)| index as usize);
    let mut bounds = Bounds::new(request.limit, request.max_bytes);
    let mut page = Writer::new(stored::COLUMNS);
    let mut reply = RowsReply { cursor: request.cursor, ..RowsReply::default() };
    let none = Sandbox::default();
    let sandbox = store.sandboxes.get(&key(request.key)).unwrap_or(&none);
    for (index, s) in sandbox.segments.iter().enumerate().skip(start) {
        if !bounds.admits(200 + s.leaves.len()) {
            reply.more = true;
            break;
        }
        page.row(&[
            Value::Int(s.first),
            Value::Int(s.last),
            Value::Blob(s.id.clone()),
            Value::Blob(s.previous.clone()),
            Value::Blob(s.hash.clone()),
            Value::Blob(s.leaves.clone()),
        ]);
        reply.cursor = cursor(0, index as i64 + 1);
    }
    reply.table = page.finish();
    Ok(reply)
}

pub fn usage(store: &Store, k: SandboxKey) -> Result<Usage, Error> {
    let mut usage = Usage::default();
    for (_, entry) in store.entries_of(&key(k)) {
        usage.first_ts = if usage.entries == 0 { entry.ts } else { usage.first_ts.min(entry.ts) };
        usage.last_ts = usage.last_ts.max(entry.ts);
        usage.entries += 1;
        usage.bytes += (entry.payload_bytes().len() + entry.error.as_bytes().unwrap_or_default().len()) as u64;
        usage.created |= entry.event == "sandbox.created";
        usage.closed |= entry.event == "sandbox.closed";
    }
    Ok(usage)
}
