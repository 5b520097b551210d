//! Mistakes that a plugin in Zig can make: the name of a sandbox says which.

const std = @import("std");
const alineo = @import("alineo");

pub const panic = alineo.panic;

var calls: u64 = 0;

const Hazard = struct {
    pub const manifest = alineo.Manifest{ .name = "hazard", .version = "1.0.0", .kinds = &.{"ledger"} };

    pub fn ledger_open(request: alineo.LedgerOpenRequest) alineo.Failed!alineo.Head {
        const name = request.key.name;
        const nothing: ?u64 = if (name.len == 0) 1 else null;
        if (std.mem.eql(u8, name, "panic")) @panic("a mistake");
        if (std.mem.eql(u8, name, "unwrap")) calls = nothing.?;
        if (std.mem.eql(u8, name, "index")) calls = name[name.len..][@as(usize, @truncate(calls % 7))];
        if (std.mem.eql(u8, name, "unreachable")) unreachable;
        if (std.mem.eql(u8, name, "stack")) calls = deep(&.{ 1, 2 });
        if (std.mem.eql(u8, name, "memory")) { // nobody catches it
            while (true) {
                const block = alineo.heap.alloc(u8, 1 << 16) catch @panic("out of memory");
                @as(*volatile u8, &block[0]).* = 1;
            }
        }
        if (std.mem.eql(u8, name, "arena")) {
            while (true) {
                const block = try alineo.arena().alloc(u8, 1 << 16);
                @as(*volatile u8, &block[0]).* = 1;
            }
        }
        if (std.mem.eql(u8, name, "loop")) {
            while (true) @as(*volatile u64, &calls).* += 1;
        }
        calls += 1;
        return .{ .epoch = calls, .last_step = -1 };
    }
};

/// Frames that are really there.
fn deep(above: []const u64) u64 {
    var frame: [128]u64 = undefined;
    for (&frame) |*cell| @as(*volatile u64, cell).* = above[0] + 1;
    return deep(&frame) + frame[64];
}

comptime {
    alineo.plugin(Hazard);
}
