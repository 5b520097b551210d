//! Pages of entries and checkpoints.

use crate::store::{cursor, key, read_cursor, Entry, Store};
use alineo::column::{checkpoint, row};
use alineo::table::Writer;
use alineo::{json, Error, LastCheckpointRequest, LedgerReadRequest, RowsReply, SandboxPageRequest, Value};

const CHECKPOINT: &str = "sandbox.checkpoint_created";

/// A page's bounds when the host leaves them to the plugin, and the most that it makes.
const ROWS: usize = 1000;
const BYTES: usize = 1 << 20;
const MAX_BYTES: usize = 12 << 20;

/// What of a list goes into a page.
pub struct Bounds {
    rows: usize,
    bytes: usize,
    used: usize,
    count: usize,
}

impl Bounds {
    pub fn new(limit: u64, max_bytes: u64) -> Self {
        let rows = if limit == 0 { ROWS } else { limit.min(65_536) as usize };
        let bytes = if max_bytes == 0 { BYTES } else { max_bytes.min(MAX_BYTES as u64) as usize };
        Bounds { rows, bytes, used: 0, count: 0 }
    }

    /// Whether one more row fits within the bytes, for pages that are cut at their beginning.
    fn holds(&mut self, size: usize) -> bool {
        (self.count == 0 || self.used + size <= self.bytes) && self.admits(size)
    }

    /// Whether one more row may come: a page ends with the row that passes the bytes, and always has one.
    pub fn admits(&mut self, size: usize) -> bool {
        let full =
            self.count == self.rows || self.count > 0 && (self.used > self.bytes || self.used + size > MAX_BYTES);
        if !full {
            self.count += 1;
            self.used += size;
        }
        !full
    }
}

pub fn read(store: &Store, request: LedgerReadRequest) -> Result<RowsReply, Error> {
    let all = request.key.name.is_empty() && request.key.sandbox_id.is_empty();
    let start = read_cursor(&request.cursor)?;
    if request.last > 0 {
        if start.is_some() {
            return Err(Error::invalid("the last entries have no cursor that they come behind"));
        }
        return Ok(read_last(store, request, all));
    }
    let mut bounds = Bounds::new(request.limit, request.max_bytes);
    let mut page = Writer::new(row::COLUMNS);
    let mut reply = RowsReply { cursor: request.cursor.clone(), ..RowsReply::default() };
    let mut add = |id: i64, entry: &Entry| {
        if !bounds.admits(entry.size()) {
            reply.more = true;
            return false;
        }
        page.row(&entry_row(id, entry));
        reply.cursor = if all { cursor(0, id) } else { cursor(entry.ts, id) };
        true
    };
    if all {
        let after = start.map_or(0, |(_, id)| id);
        for (id, entry) in store.entries.range(after.saturating_add(1)..) {
            if !add(*id, entry) {
                break;
            }
        }
    } else if let Some(sandbox) = store.sandboxes.get(&key(request.key)) {
        let from = start.map_or(std::ops::Bound::Unbounded, std::ops::Bound::Excluded);
        for ((_, id), ()) in sandbox.order.range((from, std::ops::Bound::Unbounded)) {
            if !add(*id, &store.entries[id]) {
                break;
            }
        }
    }
    reply.table = page.finish();
    Ok(reply)
}

/// The last entries: from the end until the bounds, then turned round.
fn read_last(store: &Store, request: LedgerReadRequest, all: bool) -> RowsReply {
    let limit = if request.limit == 0 { request.last } else { request.last.min(request.limit) };
    let mut bounds = Bounds::new(limit, request.max_bytes);
    let newest: Box<dyn Iterator<Item = (i64, &Entry)>> = if all {
        Box::new(store.entries.iter().rev().map(|(id, entry)| (*id, entry)))
    } else {
        Box::new(store.entries_of(&key(request.key)).rev())
    };
    let mut rows: Vec<(i64, &Entry)> = newest.take_while(|(_, entry)| bounds.holds(entry.size())).collect();
    rows.reverse();
    let mut page = Writer::new(row::COLUMNS);
    for (id, entry) in &rows {
        page.row(&entry_row(*id, entry));
    }
    let end = rows.last().map_or_else(Vec::new, |(id, entry)| if all { cursor(0, *id) } else { cursor(entry.ts, *id) });
    RowsReply { table: page.finish(), cursor: end, ..RowsReply::default() }
}

fn entry_row(id: i64, entry: &Entry) -> [Value; row::COLUMNS] {
    [
        Value::Int(id),
        entry.key.1.as_str().into(),
        entry.key.0.as_str().into(),
        Value::Int(entry.step),
        entry.branch.clone(),
        entry.event.as_str().into(),
        entry.payload.clone(),
        entry.error.clone(),
        Value::Int(entry.ts),
    ]
}

pub fn last_checkpoint(store: &Store, request: LastCheckpointRequest) -> Result<RowsReply, Error> {
    let mut page = Writer::new(row::COLUMNS);
    let tag = request.tag;
    let newest = store.entries_of(&key(request.key)).rev().find(|(_, entry)| {
        entry.event == CHECKPOINT
            && (tag.is_empty() || json::string_field(entry.payload_bytes(), "name").as_deref() == Some(&tag))
    });
    if let Some((id, entry)) = newest {
        page.row(&entry_row(id, entry));
    }
    Ok(RowsReply { table: page.finish(), ..RowsReply::default() })
}

pub fn list_checkpoints(store: &Store, request: SandboxPageRequest) -> Result<RowsReply, Error> {
    let start = read_cursor(&request.cursor)?;
    let mut bounds = Bounds::new(request.limit, request.max_bytes);
    let mut page = Writer::new(checkpoint::COLUMNS);
    let mut reply = RowsReply { cursor: request.cursor, ..RowsReply::default() };
    for (id, entry) in store.entries_of(&key(request.key)) {
        if entry.event != CHECKPOINT || start.map_or(false, |start| (entry.ts, id) <= start) {
            continue;
        }
        if !bounds.admits(entry.size()) {
            reply.more = true;
            break;
        }
        let snapshot = json::string_field(entry.payload_bytes(), "snapshotId").unwrap_or_default();
        let tag = json::string_field(entry.payload_bytes(), "name");
        page.row(&[snapshot.as_str().into(), tag.as_deref().into(), Value::Int(entry.ts), Value::Int(id)]);
        reply.cursor = cursor(entry.ts, id);
    }
    reply.table = page.finish();
    Ok(reply)
}
