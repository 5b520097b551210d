//! What is kept. It is allocated with alineo.heap: what lies in alineo.arena() ends with the call.

const std = @import("std");
const alineo = @import("alineo");

const Value = alineo.Value;

pub var sandboxes: std.ArrayListUnmanaged(*Sandbox) = .{};
/// Of all sandboxes, in the order of writing.
pub var entries: std.ArrayListUnmanaged(*Entry) = .{};
pub var environments: std.ArrayListUnmanaged(alineo.Environment) = .{};
pub var last_id: i64 = 0;
pub var last_epoch: u64 = 0;

pub const Segment = struct { id: []const u8, hash: []const u8 };

/// What is known of a sandbox that was claimed.
pub const Sandbox = struct {
    name: []const u8,
    id: []const u8,
    epoch: u64 = 0,
    segments: std.ArrayListUnmanaged(Segment) = .{},
    /// How many entries the segments hold.
    counted: u64 = 0,
    /// By (ts, id): in the order of reading.
    entries: std.ArrayListUnmanaged(*Entry) = .{},
    /// Its texts, which go when it goes.
    texts: std.heap.ArenaAllocator,

    pub fn create(key: alineo.SandboxKey) !*Sandbox {
        const sandbox = try alineo.heap.create(Sandbox);
        var texts = std.heap.ArenaAllocator.init(alineo.heap);
        const name = try texts.allocator().dupe(u8, key.name);
        const id = try texts.allocator().dupe(u8, key.sandbox_id);
        sandbox.* = .{ .name = name, .id = id, .texts = texts };
        try sandboxes.append(alineo.heap, sandbox);
        return sandbox;
    }

    /// Forgets it; how many entries went.
    pub fn destroy(sandbox: *Sandbox) u64 {
        const count = sandbox.entries.items.len;
        var kept: usize = 0;
        for (entries.items) |e| {
            if (e.sandbox == sandbox) continue;
            entries.items[kept] = e;
            kept += 1;
        }
        entries.shrinkRetainingCapacity(kept);
        for (sandboxes.items, 0..) |s, i| {
            if (s != sandbox) continue;
            _ = sandboxes.swapRemove(i);
            break;
        }
        sandbox.entries.deinit(alineo.heap);
        sandbox.segments.deinit(alineo.heap);
        sandbox.texts.deinit();
        alineo.heap.destroy(sandbox);
        return count;
    }

    /// Keeps a copy of a text as long as the sandbox.
    pub fn keep(sandbox: *Sandbox, content: []const u8) ![]const u8 {
        return sandbox.texts.allocator().dupe(u8, content);
    }

    /// Hash and id of the last segment, empty when there is none.
    pub fn head(sandbox: *const Sandbox) Segment {
        const segments = sandbox.segments.items;
        return if (segments.len == 0) .{ .id = "", .hash = "" } else segments[segments.len - 1];
    }

    /// Puts an entry in its place, which is almost always the end.
    pub fn add(sandbox: *Sandbox, e: *Entry) !void {
        var at = sandbox.entries.items.len;
        while (at > 0 and sandbox.entries.items[at - 1].ts > e.ts) at -= 1;
        try sandbox.entries.insert(alineo.heap, at, e);
        try entries.append(alineo.heap, e);
    }
};

pub const Entry = struct {
    id: i64 = 0,
    ts: i64,
    step: i64,
    branch: Value,
    sandbox: *Sandbox,
    event: []const u8,
    payload: Value,
    err: Value,

    pub fn is(e: *const Entry, event: []const u8) bool {
        return eql(e.event, event);
    }

    /// About how much room it takes in a page.
    pub fn size(e: *const Entry) u64 {
        const texts = e.sandbox.name.len + e.sandbox.id.len + e.event.len;
        return 100 + texts + (e.payload.asText() orelse "").len + (e.err.asText() orelse "").len;
    }

    /// A text of the payload; null when it is no object, or has none.
    pub fn field(e: *const Entry, name: []const u8) ?[]const u8 {
        const payload = e.payload.asText() orelse return null;
        const json = std.json.parseFromSliceLeaky(std.json.Value, alineo.arena(), payload, .{}) catch return null;
        const value = if (json == .object) json.object.get(name) orelse return null else return null;
        return if (value == .string) value.string else null;
    }

    /// Whether it comes behind a place in the order of reading.
    pub fn isBehind(e: *const Entry, at: Place) bool {
        return e.ts > at.ts or (e.ts == at.ts and e.id > at.id);
    }
};

/// The place of an entry in the order of reading.
pub const Place = struct { ts: i64, id: i64 };

pub fn eql(a: []const u8, b: []const u8) bool {
    return std.mem.eql(u8, a, b);
}

pub fn find(key: alineo.SandboxKey) ?*Sandbox {
    for (sandboxes.items) |s| {
        if (eql(s.id, key.sandbox_id) and eql(s.name, key.name)) return s;
    }
    return null;
}

/// A sandbox's entries; none of one that nobody claimed.
pub fn of(key: alineo.SandboxKey) []const *Entry {
    return if (find(key)) |sandbox| sandbox.entries.items else &.{};
}

pub fn text(content: []const u8) Value {
    return .{ .text = content };
}

pub fn optional(content: ?[]const u8) Value {
    return if (content) |some| .{ .text = some } else .null;
}
