//! A ledger that lives in the plugin's memory and is gone with it.

const std = @import("std");
const alineo = @import("alineo");
const append = @import("append.zig");
const list = @import("list.zig");
const read = @import("read.zig");
const store = @import("store.zig");

pub const panic = alineo.panic;

const Memory = struct {
    pub const manifest = alineo.Manifest{
        .name = "ledger-memory-zig",
        .version = "1.0.0",
        .kinds = &.{"ledger"},
        .state = alineo.GuestState.@"volatile", // kept in memory: one instance, and a crash loses it
    };

    pub fn health(_: alineo.Empty) alineo.Failed!alineo.HealthReply {
        return .{ .message = try std.fmt.allocPrint(alineo.arena(), "{d} entries in memory", .{store.entries.items.len}) };
    }

    pub const ledger_open = append.open;
    pub const ledger_append = append.append;
    pub const ledger_delete_sandbox = append.delete;
    pub const ledger_read = read.read;
    pub const ledger_last_checkpoint = read.lastCheckpoint;
    pub const ledger_list_checkpoints = read.listCheckpoints;
    pub const ledger_list_sandboxes = list.listSandboxes;
    pub const ledger_get_sandbox = list.getSandbox;
    pub const ledger_find_sandbox = list.findSandbox;
    pub const environment_get = list.getEnvironment;
    pub const environment_save = list.saveEnvironment;
    pub const environment_delete = list.deleteEnvironment;
    pub const environment_list = list.listEnvironments;
};

comptime {
    alineo.plugin(Memory);
}
