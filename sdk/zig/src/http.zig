//! Requests through the host, and secrets, which stay there.
//!
//!     const token = try alineo.grantedSecret("token");
//!     const reply = try alineo.http(.{
//!         .endpoint = request.egress,
//!         .url = "/credential-vault",
//!         .method = "POST",
//!         .headers = &.{try alineo.header("Content-Type", "application/json")},
//!         .body = &.{ alineo.literal("{\"value\":\""), token.secret.json(), alineo.literal("\"}") },
//!     });

const std = @import("std");
const alineo = @import("alineo.zig");
const messages = @import("messages.zig");

/// Sends a request to an address that was granted, or to an endpoint that came with the running call. Any status is
/// a reply; code unknown_outcome says that the request may have arrived.
pub fn http(request: messages.HTTPRequest) alineo.Failed!messages.HTTPReply {
    const reply = try alineo.ask(messages.Op.http_send, request, messages.HTTPReply);
    if (reply.secrets.len != request.extract.len) return alineo.fail(messages.Code.internal, "the host did not answer every pointer");
    return reply;
}

/// A piece of a request as it stands.
pub fn literal(text: []const u8) messages.HTTPPart {
    return .{ .literal = text };
}

/// A header without secrets. What it returns is good until the running call ends.
pub fn header(name: []const u8, value: []const u8) error{OutOfMemory}!messages.HTTPHeader {
    return .{ .name = name, .value = try alineo.arena().dupe(messages.HTTPPart, &.{literal(value)}) };
}

/// A header whose value is a secret.
pub fn secretHeader(name: []const u8, value: Secret) error{OutOfMemory}!messages.HTTPHeader {
    return .{ .name = name, .value = try alineo.arena().dupe(messages.HTTPPart, &.{value.raw()}) };
}

/// The first header of a reply with that name, whatever the case of its letters.
pub fn headerValue(reply: messages.HTTPReply, name: []const u8) ?[]const u8 {
    for (reply.headers) |field| {
        if (std.ascii.eqlIgnoreCase(field.name, name)) return field.value;
    }
    return null;
}

/// A value that stays on the host, by its handle, which is good until the running call ends; 0 is none.
pub const Secret = struct {
    handle: u64,

    /// The secret as it is, as a piece of a request.
    pub fn raw(secret: Secret) messages.HTTPPart {
        return .{ .secret = secret.handle, .encoding = messages.PartEncoding.raw };
    }

    /// Escaped for the inside of a JSON string; the quotes are not part of it.
    pub fn json(secret: Secret) messages.HTTPPart {
        return .{ .secret = secret.handle, .encoding = messages.PartEncoding.json };
    }

    /// In standard base64.
    pub fn base64(secret: Secret) messages.HTTPPart {
        return .{ .secret = secret.handle, .encoding = messages.PartEncoding.base64 };
    }

    /// Percent-encoded, for a query or a form.
    pub fn url(secret: Secret) messages.HTTPPart {
        return .{ .secret = secret.handle, .encoding = messages.PartEncoding.url };
    }
};

/// A secret of the operator's. The version is another one when the value is.
pub const Granted = struct { secret: Secret, version: u64 };

/// A secret that [plugins.NAME.grant] in alineo.toml names, read anew.
pub fn grantedSecret(name: []const u8) alineo.Failed!Granted {
    const reply = try alineo.ask(messages.Op.secret_get, messages.SecretGet{ .name = name }, messages.SecretReply);
    return .{ .secret = .{ .handle = reply.secret }, .version = reply.version };
}

/// A secret that was kept in an earlier call, with what is left of its time in milliseconds (0: no end) and the note
/// that it was kept with, which is good until the running call ends.
pub const Kept = struct { secret: Secret, expires_ms: u64, note: []const u8 };

/// What was kept under a name; null when nothing is, or its time is over.
pub fn keptSecret(name: []const u8) alineo.Failed!?Kept {
    const reply = alineo.ask(messages.Op.secret_get, messages.SecretGet{ .name = name, .kept = true }, messages.SecretReply) catch |failed| {
        if (failed == error.Failed and alineo.failure().code == messages.Code.not_found) return null;
        return failed;
    };
    return .{ .secret = .{ .handle = reply.secret }, .expires_ms = reply.expires_ms, .note = reply.note };
}

/// Keeps a secret on the host for so many milliseconds, 0 being for as long as the plugin lives, for all instances of
/// this plugin. The note comes back with it and is no secret.
pub fn keepSecret(name: []const u8, value: Secret, ttl_ms: u64, note: []const u8) alineo.Failed!void {
    const request = messages.SecretKeep{ .name = name, .secret = value.handle, .ttl_ms = ttl_ms, .note = note };
    _ = try alineo.ask(messages.Op.secret_keep, request, messages.Empty);
}

/// Drops what was kept under a name.
pub fn forgetSecret(name: []const u8) alineo.Failed!void {
    return keepSecret(name, .{ .handle = 0 }, 0, "");
}
