//! Tables: batches of typed rows (abi/ABI.md, section 5).

const std = @import("std");
const wire = @import("wire.zig");

/// One typed value. Text may be no UTF-8: the host passes on what a database holds.
pub const Value = union(enum) {
    null,
    i64: i64,
    f64: f64,
    bool: bool,
    text: []const u8,
    json: []const u8,
    blob: []const u8,
    /// A kind of a later version.
    other: struct { kind: u8, bytes: []const u8 },

    /// The text of a text or JSON value, or null.
    pub fn asText(value: Value) ?[]const u8 {
        return switch (value) {
            .text, .json => |content| content,
            else => null,
        };
    }
};

const max_columns = 32_767;

/// Rows that were read. They lie in the bytes that they were read from.
pub const Table = struct {
    columns: usize = 0,
    rows: []const []const Value = &.{},

    /// Reads a table; no bytes are one without rows.
    pub fn decode(arena: std.mem.Allocator, bytes: []const u8) wire.Malformed!Table {
        return if (bytes.len == 0) .{} else strict(arena, bytes);
    }

    /// Reads a table whose header must be there.
    pub fn strict(arena: std.mem.Allocator, bytes: []const u8) wire.Malformed!Table {
        var r = wire.Reader{ .rest = bytes };
        const count = std.mem.readIntLittle(u32, (try r.take(4))[0..4]);
        const columns = std.mem.readIntLittle(u32, (try r.take(4))[0..4]);
        if (columns > max_columns or (count > 0 and columns == 0)) return error.Malformed;
        // Each value has a byte at least: nothing is allocated for what can't be there.
        if (@as(u64, count) * columns > r.rest.len) return error.Malformed;
        const rows = try arena.alloc([]const Value, count);
        for (rows) |*row| {
            const cells = try arena.alloc(Value, columns);
            for (cells) |*cell| cell.* = try r.value();
            row.* = cells;
        }
        if (r.rest.len > 0) return error.Malformed;
        return .{ .columns = columns, .rows = rows };
    }
};

/// Writes a table row by row.
pub const Writer = struct {
    out: wire.Bytes,
    columns: usize,
    rows: u32 = 0,

    pub fn init(arena: std.mem.Allocator, columns: usize) error{OutOfMemory}!Writer {
        var w = Writer{ .out = wire.Bytes.init(arena), .columns = columns };
        var header: [8]u8 = undefined;
        std.mem.writeIntLittle(u32, header[0..4], 0);
        std.mem.writeIntLittle(u32, header[4..8], @as(u32, @intCast(columns)));
        try w.out.appendSlice(&header);
        return w;
    }

    /// Adds a row, which has as many values as there are columns.
    pub fn row(w: *Writer, values: []const Value) error{OutOfMemory}!void {
        std.debug.assert(values.len == w.columns);
        for (values) |value| try wire.putValue(&w.out, value);
        w.rows += 1;
    }

    pub fn finish(w: *Writer) []const u8 {
        std.mem.writeIntLittle(u32, w.out.items[0..4], w.rows);
        return w.out.items;
    }
};
