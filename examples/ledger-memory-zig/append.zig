//! Claiming, writing and deleting.

const alineo = @import("alineo");
const store = @import("store.zig");

const E = alineo.EntryColumn;
const S = alineo.SegmentColumn;
const Value = alineo.Value;

/// The largest entry, so that one can't take all of the plugin's memory.
const max_entry = 8 << 20;

/// Claims a sandbox's ledger: whoever had it can't append any more.
pub fn open(request: alineo.LedgerOpenRequest) alineo.Failed!alineo.Head {
    const sandbox = store.find(request.key) orelse try store.Sandbox.create(request.key);
    store.last_epoch += 1; // one count for all: it is higher than every earlier claim, of deleted sandboxes too
    sandbox.epoch = store.last_epoch;
    const last = sandbox.head();
    var head = alineo.Head{ .epoch = sandbox.epoch, .last_step = -1, .entries = sandbox.counted, .hash = last.hash, .segment_id = last.id };
    for (sandbox.entries.items) |e| {
        head.last_step = @max(head.last_step, e.step);
        head.max_ts = @max(head.max_ts, e.ts);
    }
    return head;
}

/// What a segment of a batch does.
const Change = struct {
    sandbox: *store.Sandbox,
    segment: store.Segment,
    retry: bool,
    count: u64 = 0,
};

/// Writes a batch, all of it or nothing: it is looked at whole before anything is changed.
pub fn append(request: alineo.LedgerAppendRequest) alineo.Failed!alineo.LedgerAppendReply {
    const segments = try alineo.rows(request.segments);
    const rows = try alineo.rows(request.entries);
    const changes = try alineo.arena().alloc(Change, segments.len);
    for (segments, changes, 0..) |row, *change, i| {
        change.* = look(row) orelse
            return alineo.failAt(alineo.Code.conflict, "the sandbox's ledger has moved on", "segment", i);
    }
    for (rows, 0..) |row, i| {
        const at = number(row[E.segment]);
        if (at < 0 or at >= changes.len) return alineo.failAt(alineo.Code.invalid, "an entry of no segment", "entry", i);
        if (bytes(row[E.payload]).len + bytes(row[E.@"error"]).len > max_entry) {
            return alineo.failAt(alineo.Code.invalid, "an entry of more than 8 MiB, which this ledger does not take", "entry", i);
        }
    }
    for (rows) |row| {
        const change = &changes[@intCast(number(row[E.segment]))];
        if (change.retry) continue;
        store.last_id += 1;
        change.count += 1;
        const sandbox = change.sandbox;
        const e = try sandbox.texts.allocator().create(store.Entry);
        e.* = .{
            .id = store.last_id,
            .ts = number(row[E.ts]),
            .step = number(row[E.step]),
            .branch = row[E.branch],
            .sandbox = sandbox,
            .event = try sandbox.keep(bytes(row[E.event])),
            // A large payload was read on its own, as text; it is JSON all the same.
            .payload = if (row[E.payload] == .null) .null else Value{ .json = try sandbox.keep(bytes(row[E.payload])) },
            .err = if (row[E.@"error"] == .null) .null else Value{ .text = try sandbox.keep(bytes(row[E.@"error"])) },
        };
        try sandbox.add(e);
    }
    var already = true;
    for (changes) |change| {
        if (change.retry) continue;
        already = false;
        const sandbox = change.sandbox;
        const segment = store.Segment{ .id = try sandbox.keep(change.segment.id), .hash = try sandbox.keep(change.segment.hash) };
        try sandbox.segments.append(alineo.heap, segment);
        sandbox.counted += change.count;
    }
    return .{ .already = already };
}

/// Looks at a segment: it follows the head, or it was applied before, or the ledger has moved on, which is null.
fn look(row: []const Value) ?Change {
    const sandbox = store.find(.{ .name = bytes(row[S.name]), .sandbox_id = bytes(row[S.sandbox_id]) }) orelse return null;
    const segment = store.Segment{ .id = bytes(row[S.id]), .hash = bytes(row[S.hash]) };
    const epoch: u64 = @bitCast(number(row[S.epoch]));
    if (sandbox.epoch == epoch and store.eql(sandbox.head().hash, bytes(row[S.previous]))) {
        return .{ .sandbox = sandbox, .segment = segment, .retry = false };
    }
    for (sandbox.segments.items) |old| {
        if (store.eql(old.id, segment.id) and store.eql(old.hash, segment.hash)) {
            return .{ .sandbox = sandbox, .segment = segment, .retry = true };
        }
    }
    return null;
}

fn number(value: Value) i64 {
    return if (value == .i64) value.i64 else 0;
}

fn bytes(value: Value) []const u8 {
    return if (value == .blob) value.blob else value.asText() orelse "";
}

/// Removes all that is kept of a sandbox.
pub fn delete(request: alineo.SandboxRequest) alineo.Failed!alineo.DeleteReply {
    const sandbox = store.find(request.key) orelse return .{};
    return .{ .rows = sandbox.destroy() };
}
