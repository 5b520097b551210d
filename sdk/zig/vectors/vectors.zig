//! A module for the golden vectors of the ABI: what it decodes it encodes again.

const std = @import("std");
const alineo = @import("alineo");

pub const panic = alineo.panic;

const Vectors = struct {
    pub const manifest = alineo.Manifest{ .name = "vectors", .version = "1.0.0" };
};

comptime {
    alineo.plugin(Vectors);
}

extern fn alineo_buffer(size: usize) [*]u8;

/// Reads a name, a NUL and bytes from the buffer. The answer's first byte is 0, and the encoding follows; 1, the
/// bytes were refused; or 2, the name is unknown.
export fn recode(size: usize) u64 {
    const request = alineo_buffer(size)[0..size];
    const end = std.mem.indexOfScalar(u8, request, 0) orelse return packed_answer("\x02");
    var out = alineo.wire.Bytes.init(alineo.heap);
    out.append(0) catch unreachable;
    run(request[0..end], request[end + 1 ..], &out) catch |failed| return packed_answer(if (failed == error.Unknown) "\x02" else "\x01");
    return packed_answer(out.items);
}

fn packed_answer(bytes: []const u8) u64 {
    return @as(u64, @intFromPtr(bytes.ptr)) << 32 | bytes.len;
}

fn run(name: []const u8, bytes: []const u8, out: *alineo.wire.Bytes) !void {
    if (std.mem.eql(u8, name, "table")) {
        const table = try alineo.Table.strict(alineo.heap, bytes);
        var writer = try alineo.Writer.init(alineo.heap, table.columns);
        for (table.rows) |row| try writer.row(row);
        return out.appendSlice(writer.finish());
    }
    inline for (alineo.all) |named| {
        if (std.mem.eql(u8, named[0], name)) {
            return alineo.wire.encode(out, try alineo.wire.decode(named[1], alineo.heap, bytes));
        }
    }
    return error.Unknown;
}
