//! The half of a credential broker that is the same wherever its values come from: it delivers into the credential
//! vault of an OpenSandbox egress sidecar.
//!
//! Values go from the host to the sidecar; the plugin writes the documents around them. A vault that is there
//! already is changed under its revision, again when somebody else changed it meanwhile; a sidecar that is still
//! starting is asked again. A call returns when the change is in force.

const std = @import("std");
const alineo = @import("alineo.zig");
const m = @import("messages.zig");
const http = @import("http.zig");

/// Where a sidecar has its vault.
const path = "/credential-vault";
/// What an answer has, with the value true, when the change is in force with it.
const live_header = "X-Credential-Vault-Live";

const Parts = std.ArrayList(m.HTTPPart);
const Failed = alineo.Failed;

/// Delivers credentials: a plugin forwards its operations broker_set, broker_patch, broker_remove and
/// broker_list_bindings to one.
pub const Vault = struct {
    /// How long to wait after a change, in milliseconds, unless the sidecar says that there is no need to: it may look
    /// at its vault every half second.
    settle_ms: u64 = 600,
    /// The pauses before each attempt while a sidecar is starting, in milliseconds.
    waits_ms: []const u64 = &.{ 0, 300, 600, 1200, 2400 },
    /// How often a change is tried because somebody else was faster.
    conflicts: usize = 6,

    /// Binds a credential, in the place of one of that name.
    pub fn set(vault: Vault, request: m.BrokerSetRequest) Failed!m.Empty {
        const change = Change{ .name = request.name, .value = request.value, .binding = request.binding };
        var body = Parts.init(alineo.arena());
        try body.append(http.literal("{\"credentials\":["));
        try change.credential(&body);
        try body.append(http.literal("],\"bindings\":["));
        try change.bound(&body);
        try body.append(http.literal("]}"));
        const reply = try vault.send(request.egress, "POST", body.items);
        return switch (reply.status) {
            409 => vault.apply(request.egress, change),
            404 => noProxy("it has no credential vault"),
            else => vault.done(reply),
        };
    }

    /// Changes the value, the binding or both of what is bound.
    pub fn patch(vault: Vault, request: m.BrokerPatchRequest) Failed!m.Empty {
        return vault.apply(request.egress, .{ .name = request.name, .value = request.value, .binding = request.binding, .must_exist = true });
    }

    /// Ends what is bound under a name; nothing is fine.
    pub fn remove(vault: Vault, request: m.BrokerRemoveRequest) Failed!m.Empty {
        return vault.apply(request.egress, .{ .name = request.name, .removes = true });
    }

    /// Says what is bound, as far as the sidecar tells.
    pub fn list(vault: Vault, request: m.BrokerListRequest) Failed!m.BrokerListReply {
        const state = try vault.read(request.egress) orelse return .{};
        const bindings = try alineo.arena().alloc(m.NamedBinding, state.bindings.len);
        for (state.bindings, bindings) |document, *binding| binding.* = try namedBinding(document);
        std.mem.sort(m.NamedBinding, bindings, {}, struct {
            fn before(_: void, a: m.NamedBinding, b: m.NamedBinding) bool {
                return std.mem.lessThan(u8, a.name, b.name);
            }
        }.before);
        return .{ .bindings = bindings };
    }

    /// Asks the sidecar, again while it is starting. What it sends may be sent twice: a vault that was made the first
    /// time exists the second, and a change that was made has another revision.
    fn send(vault: Vault, egress: u64, method: []const u8, body: []const m.HTTPPart) Failed!m.HTTPReply {
        var request = m.HTTPRequest{ .endpoint = egress, .url = path, .method = method, .body = body };
        if (body.len > 0) request.headers = try alineo.arena().dupe(m.HTTPHeader, &.{try http.header("Content-Type", "application/json")});
        var result: Failed!m.HTTPReply = alineo.fail(m.Code.internal, "a vault without attempts");
        for (vault.waits_ms) |wait| {
            if (wait > 0) alineo.sleep(wait);
            result = http.http(request);
            if (result) |reply| {
                switch (reply.status) {
                    412, 500, 502, 503 => continue,
                    else => return reply,
                }
            } else |failed| {
                const code = alineo.failure().code;
                if (failed != error.Failed or code != m.Code.unavailable and code != m.Code.unknown_outcome) return failed;
            }
        }
        return result;
    }

    /// The state of the vault, null when there is none.
    fn read(vault: Vault, egress: u64) Failed!?State {
        const reply = try vault.send(egress, "GET", &.{});
        if (reply.status == 404) return null;
        try failure(reply);
        return std.json.parseFromSliceLeaky(State, alineo.arena(), reply.body, .{ .ignore_unknown_fields = true }) catch |failed| {
            if (failed == error.OutOfMemory) return error.OutOfMemory;
            return alineo.fail(m.Code.unavailable, "the sandbox's egress sidecar answers with something that is no credential vault");
        };
    }

    /// Reads the state and sends what the change makes of it, anew when the vault was changed in between.
    fn apply(vault: Vault, egress: u64, change: Change) Failed!m.Empty {
        for (0..vault.conflicts) |_| {
            const state = try vault.read(egress) orelse return if (change.removes) .{} else notBound(change.name);
            const body = try change.document(state) orelse return .{};
            const reply = try vault.send(egress, "PATCH", body);
            if (reply.status != 409) return vault.done(reply);
            alineo.sleep(20);
        }
        const why = "somebody else changed the sandbox's credential vault each time that it was to be changed";
        return alineo.failWith(.{ .code = m.Code.conflict, .message = why, .retryable = true });
    }

    /// Waits until a change is in force.
    fn done(vault: Vault, reply: m.HTTPReply) Failed!m.Empty {
        try failure(reply);
        const live = http.headerValue(reply, live_header) orelse "";
        if (!std.mem.eql(u8, live, "true") and vault.settle_ms > 0) alineo.sleep(vault.settle_ms);
        return .{};
    }
};

/// What a vault is to become.
const Change = struct {
    name: []const u8,
    value: u64 = 0,
    binding: m.Binding = .{},
    must_exist: bool = false,
    removes: bool = false,

    /// The change of a state; null is none.
    fn document(change: Change, state: State) Failed!?[]const m.HTTPPart {
        const has_credential = has(state.credentials, change.name);
        const has_binding = has(state.bindings, change.name);
        if (change.must_exist and !has_credential) return notBound(change.name);
        var body = Parts.init(alineo.arena());
        try body.append(try print("{{\"expectedRevision\":{d}", .{state.revision}));
        const first = body.items.len;
        if (change.removes) {
            if (has_credential) try body.append(try print(",\"credentials\":{{\"delete\":[{s}]}}", .{try quoted(change.name)}));
            if (has_binding) try body.append(try print(",\"bindings\":{{\"delete\":[{s}]}}", .{try quoted(change.name)}));
        }
        if (change.value != 0) {
            try body.append(try print(",\"credentials\":{{\"{s}\":[", .{verb(has_credential)}));
            try change.credential(&body);
            try body.append(http.literal("]}"));
        }
        if (change.binding.hosts.len > 0) {
            try body.append(try print(",\"bindings\":{{\"{s}\":[", .{verb(has_binding)}));
            try change.bound(&body);
            try body.append(http.literal("]}"));
        }
        if (body.items.len == first) return null;
        try body.append(http.literal("}"));
        return body.items;
    }

    /// The document of the credential, with a place for the value.
    fn credential(change: Change, body: *Parts) Failed!void {
        try body.append(try print("{{\"name\":{s},\"source\":{{\"type\":\"inline\",\"value\":\"", .{try quoted(change.name)}));
        try body.append((http.Secret{ .handle = change.value }).json());
        try body.append(http.literal("\"}}"));
    }

    /// The document of the binding, which is called as its credential is.
    fn bound(change: Change, body: *Parts) Failed!void {
        const b = change.binding;
        var auth = Auth{ .type = b.auth };
        if (std.mem.eql(u8, b.auth, "customHeaders")) {
            const headers = try alineo.arena().alloc(AuthHeader, b.headers.len);
            for (b.headers, headers) |from, *to| {
                to.* = .{ .name = from.name, .credential = if (from.credential.len > 0) from.credential else change.name };
            }
            auth.headers = headers;
        } else if (std.mem.eql(u8, b.auth, "passthrough")) {
            const substitutions = try alineo.arena().alloc(AuthSubstitution, b.substitutions.len);
            for (b.substitutions, substitutions) |from, *to| {
                to.* = .{ .credential = change.name, .placeholder = from.placeholder, .in = from.in };
            }
            auth.substitutions = substitutions;
        } else {
            auth.credential = change.name;
            if (std.mem.eql(u8, b.auth, "apiKey")) auth.name = b.header;
        }
        try body.append(http.literal(try json(BoundDocument{
            .name = change.name,
            .match = .{
                .hosts = b.hosts,
                .schemes = unlessEmpty([]const u8, b.schemes),
                .methods = unlessEmpty([]const u8, b.methods),
                .paths = unlessEmpty([]const u8, b.paths),
                .ports = unlessEmpty(u64, b.ports),
            },
            .auth = auth,
        })));
    }
};

fn verb(there: bool) []const u8 {
    return if (there) "replace" else "add";
}

fn has(list: anytype, name: []const u8) bool {
    for (list) |one| {
        if (std.mem.eql(u8, one.name, name)) return true;
    }
    return false;
}

// --- documents of a sidecar ---

/// What a sidecar tells of its vault.
const State = struct {
    revision: i64,
    credentials: []const struct { name: []const u8 } = &.{},
    bindings: []const BoundDocument = &.{},
};

const Match = struct {
    schemes: ?[]const []const u8 = null,
    ports: ?[]const u64 = null,
    hosts: []const []const u8 = &.{},
    methods: ?[]const []const u8 = null,
    paths: ?[]const []const u8 = null,
};

const AuthHeader = struct { name: []const u8, credential: []const u8 };
const AuthSubstitution = struct { credential: []const u8 = "", placeholder: []const u8, in: []const []const u8 };

const Auth = struct {
    type: []const u8 = "",
    name: ?[]const u8 = null,
    credential: ?[]const u8 = null,
    headers: ?[]const AuthHeader = null,
    substitutions: ?[]const AuthSubstitution = null,
};

const BoundDocument = struct { name: []const u8, match: Match = .{}, auth: Auth = .{} };

/// A binding as it was set. What a sidecar fills in for what was not said is left out again.
fn namedBinding(document: BoundDocument) Failed!m.NamedBinding {
    const match = document.match;
    const auth = document.auth;
    var binding = m.Binding{
        .schemes = unless(match.schemes, &.{"https"}),
        .ports = match.ports orelse &.{},
        .hosts = match.hosts,
        .methods = unless(match.methods, &.{ "GET", "POST", "PUT", "PATCH", "DELETE" }),
        .paths = unless(match.paths, &.{"/*"}),
        .auth = auth.type,
        .header = auth.name orelse "",
    };
    if (binding.ports.len == 1 and binding.ports[0] == 443) binding.ports = &.{};
    const headers = auth.headers orelse &.{};
    const named = try alineo.arena().alloc(m.AuthHeader, headers.len);
    for (headers, named) |from, *to| to.* = .{ .name = from.name, .credential = from.credential };
    binding.headers = named;
    const substitutions = auth.substitutions orelse &.{};
    const placed = try alineo.arena().alloc(m.Substitution, substitutions.len);
    for (substitutions, placed) |from, *to| to.* = .{ .placeholder = from.placeholder, .in = from.in };
    binding.substitutions = placed;
    return .{
        .name = document.name,
        .binding = binding,
        .partial = std.mem.eql(u8, auth.type, "customHeaders") and headers.len == 0 or
            std.mem.eql(u8, auth.type, "passthrough") and substitutions.len == 0,
    };
}

/// The list, or nothing when it is what holds anyway.
fn unless(list: ?[]const []const u8, by_default: []const []const u8) []const []const u8 {
    const told = list orelse return &.{};
    if (told.len != by_default.len) return told;
    for (told, by_default) |a, b| {
        if (!std.mem.eql(u8, a, b)) return told;
    }
    return &.{};
}

fn unlessEmpty(comptime T: type, list: []const T) ?[]const T {
    return if (list.len > 0) list else null;
}

fn json(value: anytype) error{OutOfMemory}![]const u8 {
    return std.json.stringifyAlloc(alineo.arena(), value, .{ .emit_null_optional_fields = false });
}

fn quoted(text: []const u8) error{OutOfMemory}![]const u8 {
    return json(text);
}

fn print(comptime format: []const u8, parts: anytype) error{OutOfMemory}!m.HTTPPart {
    return http.literal(try std.fmt.allocPrint(alineo.arena(), format, parts));
}

// --- errors ---

/// What an answer that is no success means.
fn failure(reply: m.HTTPReply) Failed!void {
    const text = try said(reply);
    const who = "the sandbox's egress sidecar ";
    return switch (reply.status) {
        200...299 => {},
        400 => failText(m.Code.invalid, who ++ "refuses this{s}", .{text}),
        401, 403 => failText(m.Code.denied, who ++ "does not take the token that its server gave out{s}", .{text}),
        404 => noProxy("its sidecar has no credential vault"),
        412 => noProxy(try std.fmt.allocPrint(alineo.arena(), "its sidecar says{s}", .{text})),
        426 => failText(m.Code.denied, who ++ "takes secrets over TLS or from its own machine only{s}" ++
            " (use_server_proxy = true below [sandbox] goes through the server, which is on that machine)", .{text}),
        else => |status| failText(
            if (status == 409) m.Code.conflict else if (status >= 500) m.Code.unavailable else m.Code.internal,
            who ++ "answered with status {d}{s}",
            .{ status, text },
        ),
    };
}

fn failText(code: u32, comptime format: []const u8, parts: anytype) Failed {
    const message = try std.fmt.allocPrint(alineo.arena(), format, parts);
    return alineo.failWith(.{ .code = code, .message = message, .retryable = code == m.Code.conflict or code == m.Code.unavailable });
}

/// The sidecar's text, as the end of a message.
fn said(reply: m.HTTPReply) error{OutOfMemory}![]const u8 {
    var text = std.mem.trim(u8, reply.body, " \t\r\n");
    if (text.len > 300) text = text[0..300];
    if (text.len == 0) return "";
    const whole = try std.fmt.allocPrint(alineo.arena(), ": {s}", .{text});
    if (std.unicode.utf8ValidateSlice(whole)) return whole;
    for (whole) |*byte| {
        if (byte.* >= 0x80) byte.* = '?';
    }
    return whole;
}

fn notBound(name: []const u8) Failed {
    return failText(m.Code.not_found, "no credential {s} is bound in this sandbox", .{try quoted(name)});
}

/// The error of a sandbox that has no place for credentials.
fn noProxy(why: []const u8) Failed {
    const format = "the sandbox takes no credentials: {s}; create it with the credential proxy (credentialProxy and a networkPolicy)";
    const details = try alineo.arena().dupe(m.Pair, &.{.{ .key = "no_proxy", .value = "true" }});
    return alineo.failWith(.{
        .code = m.Code.unsupported,
        .message = try std.fmt.allocPrint(alineo.arena(), format, .{why}),
        .details = details,
    });
}
