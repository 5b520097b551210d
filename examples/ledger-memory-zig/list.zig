//! Lists of sandboxes, and prebuilt snapshots by name.

const alineo = @import("alineo");
const std = @import("std");
const pages = @import("read.zig");
const store = @import("store.zig");

/// One sandbox, summed up.
const Summary = struct {
    sandbox: *const store.Sandbox,
    created: *const store.Entry,
    completed: ?i64,
    execs: i64,

    /// Null for a sandbox without sandbox.created.
    fn of(sandbox: *const store.Sandbox) ?Summary {
        var created: ?*const store.Entry = null;
        var completed: ?i64 = null;
        var execs: i64 = 0;
        for (sandbox.entries.items) |e| {
            if (e.is("sandbox.created")) {
                if (created == null) created = e;
            } else if (e.is("sandbox.closed")) {
                completed = e.ts; // entries are by time: the last one counts
            } else if (e.is("exec.completed")) {
                execs += 1;
            }
        }
        return .{ .sandbox = sandbox, .created = created orelse return null, .completed = completed, .execs = execs };
    }

    fn status(s: Summary) []const u8 {
        return if (s.completed == null) "running" else "completed";
    }

    fn run(s: Summary) []const u8 {
        return s.created.field("runId") orelse s.sandbox.id;
    }

    fn put(s: Summary, page: *alineo.Writer) alineo.Failed!void {
        try page.row(&.{
            store.text(s.sandbox.name),
            store.text(s.sandbox.id),
            store.text(s.status()),
            .{ .i64 = s.created.ts },
            if (s.completed) |ts| alineo.Value{ .i64 = ts } else .null,
            .{ .i64 = s.execs },
            store.text(s.run()),
            store.optional(s.created.field("resourceId")),
            store.optional(s.created.field("teamId")),
            store.optional(s.created.field("parentSandboxId")),
            .{ .i64 = s.created.id },
        });
    }

    fn isNewer(_: void, a: Summary, b: Summary) bool {
        return a.created.isBehind(.{ .ts = b.created.ts, .id = b.created.id });
    }
};

/// All sandboxes that were created, newest start first.
fn summaries() alineo.Failed![]const Summary {
    var all = std.ArrayList(Summary).init(alineo.arena());
    for (store.sandboxes.items) |sandbox| {
        if (Summary.of(sandbox)) |s| try all.append(s);
    }
    std.sort.pdq(Summary, all.items, {}, Summary.isNewer);
    return all.items;
}

fn fits(filter: []const u8, value: ?[]const u8) bool {
    return filter.len == 0 or store.eql(filter, value orelse "");
}

/// A page of the sandboxes that the filters leave.
pub fn listSandboxes(request: alineo.ListSandboxesRequest) alineo.Failed!alineo.RowsReply {
    const after = try pages.readCursor(request.cursor);
    const most = @min(request.limit orelse pages.page_rows, pages.page_rows);
    var reply = alineo.RowsReply{ .cursor = request.cursor };
    var page = try alineo.Writer.init(alineo.arena(), alineo.SandboxColumn.columns);
    for (try summaries()) |s| {
        const e = s.created;
        if (!fits(request.name, s.sandbox.name) or !fits(request.status, s.status()) or !fits(request.run_id, s.run())) continue;
        if (!fits(request.resource_id, e.field("resourceId")) or !fits(request.team_id, e.field("teamId"))) continue;
        if (!std.mem.startsWith(u8, s.sandbox.id, request.id_prefix)) continue;
        if (request.before) |before| if (e.ts >= before) continue;
        if (after) |place| if (e.isBehind(place) or (e.ts == place.ts and e.id == place.id)) continue;
        if (page.rows == most) {
            reply.more = most > 0;
            break;
        }
        try s.put(&page);
        reply.cursor = try pages.cursor(e);
    }
    reply.table = page.finish();
    return reply;
}

/// The newest of the sandboxes with an id, and a name if there is one.
fn one(id: []const u8, name: ?[]const u8) alineo.Failed!alineo.RowsReply {
    var page = try alineo.Writer.init(alineo.arena(), alineo.SandboxColumn.columns);
    for (try summaries()) |s| {
        if (!store.eql(s.sandbox.id, id) or (name != null and !store.eql(s.sandbox.name, name.?))) continue;
        try s.put(&page);
        break;
    }
    return .{ .table = page.finish() };
}

pub fn getSandbox(request: alineo.SandboxRequest) alineo.Failed!alineo.RowsReply {
    return one(request.key.sandbox_id, request.key.name);
}

pub fn findSandbox(request: alineo.FindSandboxRequest) alineo.Failed!alineo.RowsReply {
    return one(request.sandbox_id, null);
}

fn environment(name: []const u8) ?usize {
    for (store.environments.items, 0..) |e, i| {
        if (store.eql(e.name, name)) return i;
    }
    return null;
}

pub fn getEnvironment(request: alineo.EnvironmentRequest) alineo.Failed!alineo.Environment {
    const at = environment(request.name) orelse
        return alineo.fail(alineo.Code.not_found, "there is no environment of this name");
    return store.environments.items[at];
}

pub fn saveEnvironment(request: alineo.Environment) alineo.Failed!alineo.Empty {
    const own = alineo.Environment{
        .name = try alineo.heap.dupe(u8, request.name),
        .snapshot_id = try alineo.heap.dupe(u8, request.snapshot_id),
        .image = try alineo.heap.dupe(u8, request.image),
        .built_at = request.built_at,
    };
    try store.environments.append(alineo.heap, own);
    if (environment(own.name)) |at| if (at + 1 < store.environments.items.len) forget(at);
    return .{};
}

pub fn deleteEnvironment(request: alineo.EnvironmentRequest) alineo.Failed!alineo.Empty {
    if (environment(request.name)) |at| forget(at);
    return .{};
}

fn forget(at: usize) void {
    const e = store.environments.swapRemove(at);
    for ([_][]const u8{ e.name, e.snapshot_id, e.image }) |text| alineo.heap.free(text);
}

fn builtLater(_: void, a: alineo.Environment, b: alineo.Environment) bool {
    return a.built_at > b.built_at;
}

pub fn listEnvironments(_: alineo.Empty) alineo.Failed!alineo.RowsReply {
    const sorted = try alineo.arena().dupe(alineo.Environment, store.environments.items);
    std.sort.pdq(alineo.Environment, sorted, {}, builtLater);
    var page = try alineo.Writer.init(alineo.arena(), alineo.EnvironmentColumn.columns);
    for (sorted) |e| try page.row(&.{ store.text(e.name), store.text(e.snapshot_id), store.text(e.image), .{ .i64 = e.built_at } });
    return .{ .table = page.finish() };
}
