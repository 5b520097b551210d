//! Write a plugin of alineo-host in Zig: README.md begins with a whole one.
//!
//! A plugin is a struct with a function for each operation that it has, by the name of the operation with a
//! line in the place of its dot, such as ledger_open. `plugin` makes it the module's.

const std = @import("std");
const messages = @import("messages.zig");
const tables = @import("table.zig");
const requests = @import("http.zig");
pub const wire = @import("wire.zig");

pub usingnamespace messages;
pub const Value = tables.Value;
pub const Table = tables.Table;
pub const Writer = tables.Writer;
pub const Vault = @import("vault.zig").Vault;
pub usingnamespace requests;

/// What operations fail with, after `fail`.
pub const Failed = error{ Failed, OutOfMemory };

/// What a call allocates, and every request: all of it is used again when the operation has returned.
pub fn arena() std.mem.Allocator {
    return call_arena.allocator();
}

/// What lives as long as the plugin.
pub const heap = std.heap.wasm_allocator;

var call_arena = std.heap.ArenaAllocator.init(heap);
var noted: messages.Error = .{};

/// Notes an error, to return: `return alineo.fail(alineo.Code.conflict, "…");`
pub fn fail(code: u32, message: []const u8) Failed {
    noted = .{ .code = code, .message = message };
    return error.Failed;
}

/// Notes a whole error.
pub fn failWith(whole: messages.Error) Failed {
    noted = whole;
    return error.Failed;
}

/// The error that was noted last: of the host, after something that was asked of it has failed.
pub fn failure() messages.Error {
    return noted;
}

/// Notes an error with a detail, such as "entry" or "segment" with an index.
pub fn failAt(code: u32, message: []const u8, key: []const u8, index: u64) Failed {
    const pairs = try arena().alloc(messages.Pair, 1);
    pairs[0] = .{ .key = key, .value = try std.fmt.allocPrint(arena(), "{d}", .{index}) };
    noted = .{ .code = code, .message = message, .details = pairs };
    return error.Failed;
}

// --- the host ---

const imports = struct {
    extern "alineo_v1" fn call(op: u32, ptr: [*]const u8, size: usize) u64;
    extern "alineo_v1" fn take(ptr: [*]u8) void;
    extern "alineo_v1" fn log(level: u32, ptr: [*]const u8, size: usize) void;
    extern "wasi_snapshot_preview1" fn clock_time_get(clock: u32, precision: u64, nanoseconds: *u64) u32;
    extern "wasi_snapshot_preview1" fn poll_oneoff(subscriptions: *const [6]u64, events: *[4]u64, count: usize, happened: *u32) u32;
};

/// Levels of log lines.
pub const Level = enum(u32) { trace = 1, debug = 2, info = 3, warn = 4, @"error" = 5 };

/// Writes a log line.
pub fn log(level: Level, line: []const u8) void {
    imports.log(@intFromEnum(level), line.ptr, line.len);
}

/// The time, in Unix milliseconds.
pub fn now() i64 {
    var nanoseconds: u64 = 0;
    _ = imports.clock_time_get(0, 1_000_000, &nanoseconds);
    return @intCast(nanoseconds / 1_000_000);
}

/// Waits so many milliseconds. What is left of the call's time goes on.
pub fn sleep(milliseconds: u64) void {
    // User data, the kind (a clock), which clock (the monotonic one), for how long, precision, and no flags.
    const subscription = [6]u64{ 0, 0, 1, @min(milliseconds, 1 << 40) * 1_000_000, 0, 0 };
    var event: [4]u64 = undefined;
    var happened: u32 = 0;
    _ = imports.poll_oneoff(&subscription, &event, 1, &happened);
}

/// Asks the host for an operation.
pub fn ask(op: u32, request: anytype, comptime Reply: type) Failed!Reply {
    var out = wire.Bytes.init(arena());
    try wire.encode(&out, request);
    const answered = imports.call(op, out.items.ptr, out.items.len);
    const reply = try arena().alloc(u8, @as(u32, @truncate(answered)));
    imports.take(reply.ptr);
    if (answered >> 32 == 0) {
        return wire.decode(Reply, arena(), reply) catch fail(messages.Code.internal, "the host's reply is malformed");
    }
    noted = wire.decode(messages.Error, arena(), reply) catch .{ .code = messages.Code.internal, .message = "the host's error is malformed" };
    return error.Failed;
}

/// Runs a program on a granted database, in one transaction.
pub fn sql(program: messages.SQLExec) Failed!messages.SQLExecReply {
    return ask(messages.Op.sql_exec, program, messages.SQLExecReply);
}

/// The whole of one text, JSON or blob cell.
pub fn cell(handle: u64, row: u64, column: u64) Failed![]const u8 {
    var whole = wire.Bytes.init(arena());
    while (true) {
        const request = messages.BatchCell{ .handle = handle, .row = row, .column = column, .offset = whole.items.len };
        const part = try ask(messages.Op.batch_cell, request, messages.BatchBytes);
        try whole.appendSlice(part.data);
        if (part.data.len == 0 or whole.items.len >= part.total) return whole.items;
    }
}

/// All rows behind a handle, cells of any size included. For batches that fit into the plugin's memory.
pub fn rows(handle: u64) Failed![]const []const Value {
    var all = std.ArrayList([]const Value).init(arena());
    while (true) {
        const first = all.items.len;
        const page = try ask(messages.Op.batch_read, messages.BatchRead{ .handle = handle, .first = first }, messages.BatchRows);
        const table = Table.decode(arena(), page.table) catch return fail(messages.Code.internal, "the host's rows are malformed");
        if (table.rows.len == 0) return all.items;
        for (page.cut) |at| {
            const row = at >> 8;
            const column = at & 0xff;
            if (row < first or row - first >= table.rows.len or column >= table.columns) {
                return fail(messages.Code.internal, "the host cut a cell that it did not send");
            }
            @constCast(table.rows[@intCast(row - first)])[@intCast(column)] = .{ .text = try cell(handle, row, column) };
        }
        try all.appendSlice(table.rows);
    }
}

// --- a call ---

var buffer: []u8 = &.{};
var response: []const u8 = "";

fn abiMarker() callconv(.C) void {}

fn requestBuffer(size: usize) callconv(.C) [*]u8 {
    if (buffer.len < size or buffer.len == 0) {
        heap.free(buffer);
        buffer = &.{};
        buffer = heap.alloc(u8, @max(size, 4096)) catch @panic("out of memory");
    }
    return buffer.ptr;
}

/// Makes a struct the plugin that this module is: `comptime { alineo.plugin(@This()); }` in its file. It has
/// `pub const manifest: alineo.Manifest` and a function for each operation that it has.
pub fn plugin(comptime P: type) void {
    const exported = struct {
        fn call(op: u32, size: usize) callconv(.C) u64 {
            _ = call_arena.reset(.retain_capacity);
            var out = wire.Bytes.init(arena());
            answer(P, op, size, &out) catch |failed| {
                if (failed == error.OutOfMemory) @panic("out of memory");
                out.clearRetainingCapacity();
                out.append(1) catch @panic("out of memory");
                wire.encode(&out, noted) catch @panic("out of memory");
            };
            response = out.items;
            return @as(u64, @intFromPtr(response.ptr)) << 32 | response.len;
        }
    };
    @export(abiMarker, .{ .name = "alineo_abi_v1" });
    @export(requestBuffer, .{ .name = "alineo_buffer" });
    @export(exported.call, .{ .name = "alineo_call" });
}

fn answer(comptime P: type, op: u32, size: usize, out: *wire.Bytes) Failed!void {
    if (size > buffer.len) return fail(messages.Code.invalid, "the request is longer than the buffer");
    try out.append(0);
    const envelope = wire.decode(messages.Request, arena(), buffer[0..size]) catch return malformed();
    if (op == messages.Op.describe) return wire.encode(out, P.manifest);
    if (op == messages.Op.echo) return out.appendSlice(envelope.body);
    inline for (messages.operations) |o| {
        if (o.number == op) {
            if (!@hasDecl(P, o.method)) {
                if (op < 0x10) return; // configure, close and health need not be there
                return fail(messages.Code.unsupported, "this plugin has no operation " ++ o.name);
            }
            const request = wire.decode(o.Request, arena(), envelope.body) catch return malformed();
            return wire.encode(out, try @field(P, o.method)(request));
        }
    }
    return fail(messages.Code.unsupported, "this plugin has no such operation");
}

fn malformed() Failed {
    return fail(messages.Code.invalid, "malformed message");
}

/// What is run when the program panics: it says why, and ends the instance. Make it yours with
/// `pub const panic = alineo.panic;`
pub fn panic(message: []const u8, _: ?*std.builtin.StackTrace, _: ?usize) noreturn {
    log(.@"error", message);
    @trap();
}
