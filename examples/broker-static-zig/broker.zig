//! A credential broker whose values are secrets that the operator granted.

const std = @import("std");
const alineo = @import("alineo");

pub const panic = alineo.panic;

const Static = struct {
    pub const manifest = alineo.Manifest{
        .name = "broker-static",
        .version = "1.0.0",
        .kinds = &.{"broker"},
        .optional = &.{"broker.resolve"},
        .capabilities = &.{.{ .name = "secret", .reason = "gives them to sandboxes as credentials", .optional = true }},
    };

    /// Puts credentials where the sandbox's requests leave.
    const vault = alineo.Vault{};

    pub fn broker_set(request: alineo.BrokerSetRequest) alineo.Failed!alineo.Empty {
        return vault.set(request);
    }

    pub fn broker_patch(request: alineo.BrokerPatchRequest) alineo.Failed!alineo.Empty {
        return vault.patch(request);
    }

    pub fn broker_remove(request: alineo.BrokerRemoveRequest) alineo.Failed!alineo.Empty {
        return vault.remove(request);
    }

    pub fn broker_list_bindings(request: alineo.BrokerListRequest) alineo.Failed!alineo.BrokerListReply {
        return vault.list(request);
    }

    /// Finds the value that a credential's source names. It gets a handle, and never sees the value.
    pub fn broker_resolve(request: alineo.BrokerResolveRequest) alineo.Failed!alineo.BrokerResolveReply {
        const prefix = "static:";
        if (!std.mem.startsWith(u8, request.source.ref, prefix)) {
            return alineo.fail(alineo.Code.not_found, "this broker knows references of the form static:NAME");
        }
        // Read from its file each time, so that it can be rotated.
        const granted = try alineo.grantedSecret(request.source.ref[prefix.len..]);
        return .{ .value = granted.secret.handle };
    }
};

comptime {
    alineo.plugin(Static);
}
