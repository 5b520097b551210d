//! Pages of entries and checkpoints.

const alineo = @import("alineo");
const std = @import("std");
const store = @import("store.zig");

const Entry = store.Entry;

const checkpoint = "sandbox.checkpoint_created";

/// The bounds of a page where the host leaves them to the plugin, and the most that it makes.
pub const page_rows = 1000;
const page_bytes = 1 << 20;
const most_rows = 1 << 16;
const most_bytes = 12 << 20;

/// How much goes into a page.
const Bounds = struct {
    rows: u64,
    bytes: u64,
    count: u64 = 0,
    used: u64 = 0,

    fn init(limit: u64, max_bytes: u64) Bounds {
        return .{
            .rows = if (limit == 0) page_rows else @min(limit, most_rows),
            .bytes = if (max_bytes == 0) page_bytes else @min(max_bytes, most_bytes),
        };
    }

    /// Whether one more row may come: a page ends with the row that passes the bytes, and always has one.
    fn admits(b: *Bounds, size: u64) bool {
        if (b.count == b.rows or (b.count > 0 and (b.used > b.bytes or b.used + size > most_bytes))) return false;
        b.count += 1;
        b.used += size;
        return true;
    }

    /// The same for a page that is cut at its beginning: what passes the bytes is not in it.
    fn holds(b: *Bounds, size: u64) bool {
        return (b.count == 0 or b.used + size <= b.bytes) and b.admits(size);
    }
};

/// Where a page ended. Its form is the plugin's own business.
pub fn cursor(e: *const Entry) alineo.Failed![]const u8 {
    const place = try alineo.arena().create(store.Place);
    place.* = .{ .ts = e.ts, .id = e.id };
    return std.mem.asBytes(place);
}

/// The place that a cursor stands for, null for the beginning.
pub fn readCursor(bytes: []const u8) alineo.Failed!?store.Place {
    if (bytes.len == 0) return null;
    if (bytes.len != @sizeOf(store.Place)) return alineo.fail(alineo.Code.invalid, "this is no cursor of this ledger");
    return std.mem.bytesToValue(store.Place, bytes[0..@sizeOf(store.Place)]);
}

/// A page of a sandbox's entries, or of all.
pub fn read(request: alineo.LedgerReadRequest) alineo.Failed!alineo.RowsReply {
    const all = request.key.name.len == 0 and request.key.sandbox_id.len == 0;
    const entries: []const *Entry = if (all) store.entries.items else store.of(request.key);
    const after = try readCursor(request.cursor);
    if (request.last > 0 and after != null) {
        return alineo.fail(alineo.Code.invalid, "the last entries have no cursor that they come behind");
    }
    var reply = alineo.RowsReply{ .cursor = request.cursor };
    var from: usize = 0;
    var end = entries.len;
    if (request.last > 0) {
        var bounds = Bounds.init(if (request.limit == 0) request.last else @min(request.last, request.limit), request.max_bytes);
        from = end;
        while (from > 0 and bounds.holds(entries[from - 1].size())) from -= 1;
    } else {
        if (after) |place| from = behind(entries, place, all);
        var bounds = Bounds.init(request.limit, request.max_bytes);
        end = from;
        while (end < entries.len and bounds.admits(entries[end].size())) end += 1;
        reply.more = end < entries.len;
    }
    var page = try alineo.Writer.init(alineo.arena(), alineo.RowColumn.columns);
    for (entries[from..end]) |e| try putEntry(&page, e);
    if (end > from) reply.cursor = try cursor(entries[end - 1]);
    reply.table = page.finish();
    return reply;
}

/// The first entry of a sorted list that is behind a place.
fn behind(entries: []const *Entry, at: store.Place, by_id: bool) usize {
    var low: usize = 0;
    var high = entries.len;
    while (low < high) {
        const middle = low + (high - low) / 2;
        const e = entries[middle];
        if (if (by_id) e.id > at.id else e.isBehind(at)) high = middle else low = middle + 1;
    }
    return low;
}

fn putEntry(page: *alineo.Writer, e: *const Entry) alineo.Failed!void {
    try page.row(&.{
        .{ .i64 = e.id },
        store.text(e.sandbox.id),
        store.text(e.sandbox.name),
        .{ .i64 = e.step },
        e.branch,
        store.text(e.event),
        e.payload,
        e.err,
        .{ .i64 = e.ts },
    });
}

/// The newest checkpoint, of a tag if there is one.
pub fn lastCheckpoint(request: alineo.LastCheckpointRequest) alineo.Failed!alineo.RowsReply {
    var page = try alineo.Writer.init(alineo.arena(), alineo.RowColumn.columns);
    const entries = store.of(request.key);
    var i = entries.len;
    while (i > 0) {
        i -= 1;
        if (!entries[i].is(checkpoint)) continue;
        if (request.tag.len > 0 and !store.eql(entries[i].field("name") orelse "", request.tag)) continue;
        try putEntry(&page, entries[i]);
        break;
    }
    return .{ .table = page.finish() };
}

/// A page of a sandbox's checkpoints.
pub fn listCheckpoints(request: alineo.SandboxPageRequest) alineo.Failed!alineo.RowsReply {
    const entries = store.of(request.key);
    var reply = alineo.RowsReply{ .cursor = request.cursor };
    const from = if (try readCursor(request.cursor)) |place| behind(entries, place, false) else 0;
    var bounds = Bounds.init(request.limit, request.max_bytes);
    var page = try alineo.Writer.init(alineo.arena(), alineo.CheckpointColumn.columns);
    for (entries[from..]) |e| {
        if (!e.is(checkpoint)) continue;
        if (!bounds.admits(e.size())) {
            reply.more = true;
            break;
        }
        const snapshot = e.field("snapshotId") orelse "";
        try page.row(&.{ store.text(snapshot), store.optional(e.field("name")), .{ .i64 = e.ts }, .{ .i64 = e.id } });
        reply.cursor = try cursor(e);
    }
    reply.table = page.finish();
    return reply;
}
