//! The wire format of messages: protocol buffers, as far as the ABI uses them (abi/ABI.md, section 3). A
//! message is a struct with a list of its fields; what reads and writes it is made of that when it is compiled.

const std = @import("std");
const Value = @import("table.zig").Value;

const max_elements = 65_536;

pub const Malformed = error{ Malformed, OutOfMemory };

/// How a field is written.
pub const Kind = enum { varint, zigzag, text, bytes, value, message, map };

pub const Field = struct { name: []const u8, number: u32, kind: Kind };

/// An entry of a map.
pub const Pair = struct { key: []const u8, value: []const u8 };

/// Reads a message. What it holds is the allocator's, or lies in bytes.
pub fn decode(comptime M: type, arena: std.mem.Allocator, bytes: []const u8) Malformed!M {
    var message = M{};
    try merge(M, &message, arena, bytes);
    return message;
}

fn merge(comptime M: type, message: *M, arena: std.mem.Allocator, bytes: []const u8) Malformed!void {
    var r = Reader{ .rest = bytes };
    while (r.rest.len > 0) {
        const tag = try r.tag();
        var known = false;
        inline for (M.fields) |f| {
            if (f.number == tag.number and !known) known = try readField(f, &@field(message, f.name), arena, &r, tag.wire);
        }
        if (!known) try r.skip(tag.wire);
    }
}

/// Reads one field; false is a wire type that it does not have.
fn readField(comptime f: Field, place: anytype, arena: std.mem.Allocator, r: *Reader, wire: u3) Malformed!bool {
    const T = @TypeOf(place.*);
    const wanted: u3 = if (f.kind == .varint or f.kind == .zigzag) 0 else 2;
    if (f.kind == .map) {
        if (wire != 2) return false;
        try readEntry(place, arena, try r.bytes());
        return true;
    }
    if (comptime isList(f, T)) {
        const Element = std.meta.Child(T);
        if (wanted == 0 and wire == 2) {
            var packed_numbers = Reader{ .rest = try r.bytes() };
            while (packed_numbers.rest.len > 0) try push(Element, place, arena, try readOne(f, Element, arena, &packed_numbers));
            return true;
        }
        if (wire != wanted) return false;
        try push(Element, place, arena, try readOne(f, Element, arena, r));
        return true;
    }
    if (wire != wanted) return false;
    if (f.kind == .message) { // what comes again merges
        if (@typeInfo(T) == .Optional) {
            if (place.* == null) place.* = .{};
            try merge(std.meta.Child(T), &place.*.?, arena, try r.bytes());
        } else {
            try merge(T, place, arena, try r.bytes());
        }
        return true;
    }
    const Scalar = if (@typeInfo(T) == .Optional) std.meta.Child(T) else T;
    place.* = try readOne(f, Scalar, arena, r);
    return true;
}

fn isList(comptime f: Field, comptime T: type) bool {
    if (@typeInfo(T) != .Pointer) return false;
    return !((f.kind == .text or f.kind == .bytes) and T == []const u8);
}

fn readOne(comptime f: Field, comptime T: type, arena: std.mem.Allocator, r: *Reader) Malformed!T {
    switch (f.kind) {
        .varint => {
            const n = try r.varint();
            if (T == bool) return n != 0;
            if (T == i64) return @bitCast(n);
            return @truncate(n);
        },
        .zigzag => {
            const n = try r.varint();
            return @as(i64, @bitCast(n >> 1)) ^ -@as(i64, @intCast(n & 1));
        },
        .text => {
            const text = try r.bytes();
            if (!std.unicode.utf8ValidateSlice(text)) return error.Malformed;
            return text;
        },
        .bytes => return r.bytes(),
        .value => {
            var inner = Reader{ .rest = try r.bytes() };
            if (inner.rest.len == 0) return .null;
            const value = try inner.value();
            if (inner.rest.len > 0) return error.Malformed;
            return value;
        },
        .message => return decode(T, arena, try r.bytes()),
        .map => unreachable,
    }
}

/// Adds an element; lists double when their length is a power of two.
fn push(comptime T: type, list: *[]const T, arena: std.mem.Allocator, element: T) Malformed!void {
    const len = list.len;
    if (len == max_elements) return error.Malformed;
    var room: []T = @constCast(list.*);
    if (len & (len -% 1) == 0) {
        room = try arena.alloc(T, if (len == 0) 1 else 2 * len);
        @memcpy(room[0..len], list.*);
    }
    room.len = len + 1;
    room[len] = element;
    list.* = room;
}

fn readEntry(list: *[]const Pair, arena: std.mem.Allocator, bytes: []const u8) Malformed!void {
    const entry = struct {
        key: []const u8 = "",
        value: []const u8 = "",
        pub const fields = [_]Field{ .{ .name = "key", .number = 1, .kind = .text }, .{ .name = "value", .number = 2, .kind = .text } };
    };
    const read = try decode(entry, arena, bytes);
    for (list.*, 0..) |pair, i| {
        if (std.mem.eql(u8, pair.key, read.key)) {
            @constCast(list.*)[i].value = read.value;
            return;
        }
    }
    try push(Pair, list, arena, .{ .key = read.key, .value = read.value });
}

/// Reads what fields are made of.
pub const Reader = struct {
    rest: []const u8,

    const Tag = struct { number: u32, wire: u3 };

    fn tag(r: *Reader) Malformed!Tag {
        const n = try r.varint();
        const number = n >> 3;
        if (number == 0 or number >= 1 << 29) return error.Malformed;
        return .{ .number = @intCast(number), .wire = @truncate(n) };
    }

    pub fn varint(r: *Reader) Malformed!u64 {
        var n: u64 = 0;
        for (0..10) |i| {
            if (i >= r.rest.len) return error.Malformed;
            const byte = r.rest[i];
            if (i == 9 and byte > 1) return error.Malformed;
            n |= @as(u64, byte & 0x7f) << @intCast(7 * i);
            if (byte < 0x80) {
                r.rest = r.rest[i + 1 ..];
                return n;
            }
        }
        return error.Malformed;
    }

    pub fn take(r: *Reader, n: u64) Malformed![]const u8 {
        if (n > r.rest.len) return error.Malformed;
        const part = r.rest[0..@intCast(n)];
        r.rest = r.rest[@intCast(n)..];
        return part;
    }

    pub fn bytes(r: *Reader) Malformed![]const u8 {
        return r.take(try r.varint());
    }

    fn skip(r: *Reader, wire: u3) Malformed!void {
        switch (wire) {
            0 => _ = try r.varint(),
            1 => _ = try r.take(8),
            2 => _ = try r.bytes(),
            5 => _ = try r.take(4),
            else => return error.Malformed,
        }
    }

    /// One tagged value.
    pub fn value(r: *Reader) Malformed!Value {
        const kind = (try r.take(1))[0];
        switch (kind) {
            0 => return .null,
            1 => return .{ .i64 = @bitCast(std.mem.readIntLittle(u64, (try r.take(8))[0..8])) },
            2 => return .{ .f64 = @bitCast(std.mem.readIntLittle(u64, (try r.take(8))[0..8])) },
            3 => {
                const byte = (try r.take(1))[0];
                if (byte > 1) return error.Malformed;
                return .{ .bool = byte == 1 };
            },
            else => {
                const content = try r.take(std.mem.readIntLittle(u32, (try r.take(4))[0..4]));
                return switch (kind) {
                    4 => .{ .text = content },
                    5 => .{ .json = content },
                    6 => .{ .blob = content },
                    else => .{ .other = .{ .kind = kind, .bytes = content } },
                };
            },
        }
    }
};

pub const Bytes = std.ArrayList(u8);

/// Appends the canonical encoding.
pub fn encode(out: *Bytes, message: anytype) error{OutOfMemory}!void {
    const M = @TypeOf(message);
    inline for (M.fields) |f| try putField(f, out, @field(message, f.name));
}

fn putField(comptime f: Field, out: *Bytes, value: anytype) error{OutOfMemory}!void {
    const T = @TypeOf(value);
    if (f.kind == .map) return putMap(f, out, value);
    if (comptime isList(f, T)) {
        if (f.kind == .varint) {
            var numbers = Bytes.init(out.allocator);
            for (value) |n| try putVarint(&numbers, n);
            if (numbers.items.len > 0) try putBytes(out, f.number, numbers.items);
            return;
        }
        for (value) |element| try putOne(f, out, element, true);
        return;
    }
    if (@typeInfo(T) == .Optional) {
        if (value) |present| try putOne(f, out, present, true);
        return;
    }
    try putOne(f, out, value, false);
}

/// Writes one value; always says that zeros are written too.
fn putOne(comptime f: Field, out: *Bytes, value: anytype, always: bool) error{OutOfMemory}!void {
    switch (f.kind) {
        .text, .bytes => if (always or value.len > 0) try putBytes(out, f.number, value),
        .message => {
            var inner = Bytes.init(out.allocator);
            try encode(&inner, value);
            if (always or inner.items.len > 0) try putBytes(out, f.number, inner.items);
        },
        .value => if (value != .null) {
            var inner = Bytes.init(out.allocator);
            try putValue(&inner, value);
            try putBytes(out, f.number, inner.items);
        },
        .varint, .zigzag => {
            const n: u64 = switch (@TypeOf(value)) {
                bool => @intFromBool(value),
                i64 => if (f.kind == .zigzag) @bitCast((value << 1) ^ (value >> 63)) else @bitCast(value),
                else => value,
            };
            if (!always and n == 0) return;
            try putVarint(out, @as(u64, f.number) << 3);
            try putVarint(out, n);
        },
        .map => unreachable,
    }
}

fn putMap(comptime f: Field, out: *Bytes, pairs: []const Pair) error{OutOfMemory}!void {
    const sorted = try out.allocator.dupe(Pair, pairs);
    std.mem.sort(Pair, sorted, {}, struct {
        fn before(_: void, a: Pair, b: Pair) bool {
            return std.mem.lessThan(u8, a.key, b.key);
        }
    }.before);
    for (sorted) |pair| {
        var inner = Bytes.init(out.allocator);
        try putBytes(&inner, 1, pair.key);
        try putBytes(&inner, 2, pair.value);
        try putBytes(out, f.number, inner.items);
    }
}

fn putVarint(out: *Bytes, number: u64) error{OutOfMemory}!void {
    var n = number;
    while (n >= 0x80) : (n >>= 7) try out.append(@as(u8, @truncate(n)) | 0x80);
    try out.append(@truncate(n));
}

fn putBytes(out: *Bytes, number: u32, content: []const u8) error{OutOfMemory}!void {
    try putVarint(out, @as(u64, number) << 3 | 2);
    try putVarint(out, content.len);
    try out.appendSlice(content);
}

/// Appends one tagged value.
pub fn putValue(out: *Bytes, value: Value) error{OutOfMemory}!void {
    var raw: [8]u8 = undefined;
    switch (value) {
        .null => try out.append(0),
        .i64 => |n| {
            std.mem.writeIntLittle(i64, &raw, n);
            try out.append(1);
            try out.appendSlice(&raw);
        },
        .f64 => |n| {
            std.mem.writeIntLittle(u64, &raw, @as(u64, @bitCast(n)));
            try out.append(2);
            try out.appendSlice(&raw);
        },
        .bool => |b| try out.appendSlice(&.{ 3, @intFromBool(b) }),
        .text => |content| try putSized(out, 4, content),
        .json => |content| try putSized(out, 5, content),
        .blob => |content| try putSized(out, 6, content),
        .other => |other| try putSized(out, other.kind, other.bytes),
    }
}

fn putSized(out: *Bytes, kind: u8, content: []const u8) error{OutOfMemory}!void {
    var size: [4]u8 = undefined;
    std.mem.writeIntLittle(u32, &size, @as(u32, @intCast(content.len)));
    try out.append(kind);
    try out.appendSlice(&size);
    try out.appendSlice(content);
}
