// Written by internal/sdkgen from abi/. Do not edit.

//! Messages, operations and columns of the ABI.

const wire = @import("wire.zig");
const Value = @import("table.zig").Value;
const Field = wire.Field;
pub const Pair = wire.Pair;

/// What went wrong. Zero is not a failure.
pub const Code = struct {
    pub const ok: u32 = 0;
    /// the request is wrong; the same request fails again
    pub const invalid: u32 = 1;
    /// what the request names does not exist
    pub const not_found: u32 = 2;
    /// what is there is not what the request expected
    pub const conflict: u32 = 3;
    /// not granted, or refused by the other side
    pub const denied: u32 = 4;
    /// the operation is unknown to the receiver
    pub const unsupported: u32 = 5;
    /// nothing was done; the same request may succeed later
    pub const unavailable: u32 = 6;
    /// it may or may not have been done
    pub const unknown_outcome: u32 = 7;
    /// a limit was reached
    pub const resource_exhausted: u32 = 8;
    /// time ran out and nothing was done
    pub const deadline: u32 = 9;
    /// a fault of the receiver
    pub const internal: u32 = 10;
};

/// What a guest keeps between calls.
pub const GuestState = struct {
    /// nothing: instances are pooled, replaced and reloaded freely
    pub const none: u32 = 0;
    /// lost by a trap: the plugin is then failed, never silently reborn
    pub const @"volatile": u32 = 1;
    /// owns something outside: one instance at a time
    pub const exclusive: u32 = 2;
};

/// Where a parameter's value comes from.
pub const ParamKind = struct {
    pub const literal: u32 = 0;
    /// a column of the step's batch
    pub const column: u32 = 1;
    /// the first row of an earlier step's result
    pub const result: u32 = 2;
};

/// How a secret is written.
pub const PartEncoding = struct {
    /// as it is
    pub const raw: u32 = 0;
    /// escaped for the inside of a JSON string, without the quotes
    pub const json: u32 = 1;
    /// standard base64 with padding
    pub const base64: u32 = 2;
    /// percent-encoded
    pub const url: u32 = 3;
};

pub const RunOutcome = struct {
    /// it is there, and was left as it is
    pub const unchanged: u32 = 0;
    /// it was made, patched, claimed or deleted
    pub const changed: u32 = 1;
    /// there is no such run
    pub const unknown: u32 = 2;
};

/// Where the rows of a step go.
pub const SQLResult = struct {
    pub const none: u32 = 0;
    /// the reply carries them as a table
    pub const @"inline": u32 = 1;
    /// they stay on the host as a rows handle
    pub const handle: u32 = 2;
};

/// Reply of conditional operations.
pub const Applied = struct {
    applied: bool = false,

    pub const fields = [_]Field{
        .{ .name = "applied", .number = 1, .kind = .varint },
    };
};

/// One header of the form customHeaders.
pub const AuthHeader = struct {
    name: []const u8 = "",
    /// whose value it has; empty: the one that is bound
    credential: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "credential", .number = 2, .kind = .text },
    };
};

/// Reply of batch.cell.
pub const BatchBytes = struct {
    data: []const u8 = "",
    /// length of the whole cell
    total: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "data", .number = 1, .kind = .bytes },
        .{ .name = "total", .number = 2, .kind = .varint },
    };
};

/// Request of batch.cell: a range of one text, json or blob cell.
pub const BatchCell = struct {
    handle: u64 = 0,
    row: u64 = 0,
    column: u64 = 0,
    offset: u64 = 0,
    length: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "handle", .number = 1, .kind = .varint },
        .{ .name = "row", .number = 2, .kind = .varint },
        .{ .name = "column", .number = 3, .kind = .varint },
        .{ .name = "offset", .number = 4, .kind = .varint },
        .{ .name = "length", .number = 5, .kind = .varint },
    };
};

/// Request of batch.read: rows of a handle as a table.
pub const BatchRead = struct {
    handle: u64 = 0,
    first: u64 = 0,
    /// 0: no bound but the host's
    max_rows: u64 = 0,
    /// 0: the host's
    max_bytes: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "handle", .number = 1, .kind = .varint },
        .{ .name = "first", .number = 2, .kind = .varint },
        .{ .name = "max_rows", .number = 3, .kind = .varint },
        .{ .name = "max_bytes", .number = 4, .kind = .varint },
    };
};

/// Reply of batch.read.
pub const BatchRows = struct {
    table: []const u8 = "",
    /// first row not in the table
    next: u64 = 0,
    /// row<<8 | column of each cell that was cut to null
    cut: []const u64 = &.{},

    pub const fields = [_]Field{
        .{ .name = "table", .number = 1, .kind = .bytes },
        .{ .name = "next", .number = 2, .kind = .varint },
        .{ .name = "cut", .number = 3, .kind = .varint },
    };
};

/// Which requests of a sandbox get a credential, and how.
pub const Binding = struct {
    /// empty: https
    schemes: []const []const u8 = &.{},
    /// empty: 443
    ports: []const u64 = &.{},
    /// names or *.names; at least one
    hosts: []const []const u8 = &.{},
    /// empty: GET, POST, PUT, PATCH, DELETE
    methods: []const []const u8 = &.{},
    /// begin with /, a * at the end matches what follows; empty: all
    paths: []const []const u8 = &.{},
    /// bearer, basic, apiKey, customHeaders or passthrough
    auth: []const u8 = "",
    /// apiKey
    header: []const u8 = "",
    /// customHeaders
    headers: []const AuthHeader = &.{},
    /// passthrough
    substitutions: []const Substitution = &.{},

    pub const fields = [_]Field{
        .{ .name = "schemes", .number = 1, .kind = .text },
        .{ .name = "ports", .number = 2, .kind = .varint },
        .{ .name = "hosts", .number = 3, .kind = .text },
        .{ .name = "methods", .number = 4, .kind = .text },
        .{ .name = "paths", .number = 5, .kind = .text },
        .{ .name = "auth", .number = 6, .kind = .text },
        .{ .name = "header", .number = 7, .kind = .text },
        .{ .name = "headers", .number = 8, .kind = .message },
        .{ .name = "substitutions", .number = 9, .kind = .message },
    };
};

/// Reply of broker.list_bindings.
pub const BrokerListReply = struct {
    bindings: []const NamedBinding = &.{},

    pub const fields = [_]Field{
        .{ .name = "bindings", .number = 1, .kind = .message },
    };
};

/// Request of broker.list_bindings.
pub const BrokerListRequest = struct {
    sandbox_id: []const u8 = "",
    /// endpoint handle
    egress: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
        .{ .name = "egress", .number = 2, .kind = .varint },
    };
};

/// Request of broker.patch.
pub const BrokerPatchRequest = struct {
    sandbox_id: []const u8 = "",
    name: []const u8 = "",
    /// endpoint handle
    egress: u64 = 0,
    /// secret handle; 0: stays
    value: u64 = 0,
    /// without hosts: stays
    binding: Binding = .{},

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
        .{ .name = "name", .number = 2, .kind = .text },
        .{ .name = "egress", .number = 3, .kind = .varint },
        .{ .name = "value", .number = 4, .kind = .varint },
        .{ .name = "binding", .number = 5, .kind = .message },
    };
};

/// Request of broker.remove.
pub const BrokerRemoveRequest = struct {
    sandbox_id: []const u8 = "",
    name: []const u8 = "",
    /// endpoint handle
    egress: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
        .{ .name = "name", .number = 2, .kind = .text },
        .{ .name = "egress", .number = 3, .kind = .varint },
    };
};

/// Reply of broker.resolve.
pub const BrokerResolveReply = struct {
    /// secret handle
    value: u64 = 0,
    /// not to be used longer than that; 0: nothing is said
    expires_ms: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "value", .number = 1, .kind = .varint },
        .{ .name = "expires_ms", .number = 2, .kind = .varint },
    };
};

/// Request of broker.resolve.
pub const BrokerResolveRequest = struct {
    /// empty: before there is one
    sandbox_id: []const u8 = "",
    name: []const u8 = "",
    source: Source = .{},

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
        .{ .name = "name", .number = 2, .kind = .text },
        .{ .name = "source", .number = 3, .kind = .message },
    };
};

/// Request of broker.set.
pub const BrokerSetRequest = struct {
    sandbox_id: []const u8 = "",
    name: []const u8 = "",
    /// endpoint handle
    egress: u64 = 0,
    /// secret handle
    value: u64 = 0,
    binding: Binding = .{},

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
        .{ .name = "name", .number = 2, .kind = .text },
        .{ .name = "egress", .number = 3, .kind = .varint },
        .{ .name = "value", .number = 4, .kind = .varint },
        .{ .name = "binding", .number = 5, .kind = .message },
    };
};

/// Reply of configure. Diagnostics refuse the configuration.
pub const ConfigureReply = struct {
    diagnostics: []const Diagnostic = &.{},

    pub const fields = [_]Field{
        .{ .name = "diagnostics", .number = 1, .kind = .message },
    };
};

/// Request of configure.
pub const ConfigureRequest = struct {
    /// [plugins.NAME.config] as a JSON object
    config: []const u8 = "",
    host_version: []const u8 = "",
    /// abilities of the host beyond the first form of version 1
    features: []const []const u8 = &.{},

    pub const fields = [_]Field{
        .{ .name = "config", .number = 1, .kind = .text },
        .{ .name = "host_version", .number = 2, .kind = .text },
        .{ .name = "features", .number = 3, .kind = .text },
    };
};

/// Reply of runs.count_by_sandbox.
pub const Count = struct {
    count: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "count", .number = 1, .kind = .varint },
    };
};

/// Reply of ledger.delete_sandbox.
pub const DeleteReply = struct {
    /// entries that this call removed
    rows: u64 = 0,
    /// the deletion has not ended: ask again
    more: bool = false,

    pub const fields = [_]Field{
        .{ .name = "rows", .number = 1, .kind = .varint },
        .{ .name = "more", .number = 2, .kind = .varint },
    };
};

/// One complaint about a configuration key.
pub const Diagnostic = struct {
    /// dotted path below [plugins.NAME.config]
    key: []const u8 = "",
    message: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
        .{ .name = "message", .number = 2, .kind = .text },
    };
};

/// The message without fields.
pub const Empty = struct {
    pub const fields = [_]Field{};
};

/// Reply of environment.get and request of environment.save.
pub const Environment = struct {
    name: []const u8 = "",
    snapshot_id: []const u8 = "",
    image: []const u8 = "",
    /// Unix milliseconds
    built_at: i64 = 0,

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "snapshot_id", .number = 2, .kind = .text },
        .{ .name = "image", .number = 3, .kind = .text },
        .{ .name = "built_at", .number = 4, .kind = .varint },
    };
};

/// Request of environment.get and environment.delete.
pub const EnvironmentRequest = struct {
    name: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
    };
};

/// The one error that crosses the ABI, in both directions.
pub const Error = struct {
    code: u32 = 0,
    /// for people
    message: []const u8 = "",
    retryable: bool = false,
    /// well-known keys: entry, segment, step, row, key
    details: []const Pair = &.{},

    pub const fields = [_]Field{
        .{ .name = "code", .number = 1, .kind = .varint },
        .{ .name = "message", .number = 2, .kind = .text },
        .{ .name = "retryable", .number = 3, .kind = .varint },
        .{ .name = "details", .number = 4, .kind = .map },
    };
};

/// Request of ledger.find_sandbox.
pub const FindSandboxRequest = struct {
    sandbox_id: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "sandbox_id", .number = 1, .kind = .text },
    };
};

/// One header of a reply.
pub const HTTPField = struct {
    /// canonical: Content-Type
    name: []const u8 = "",
    value: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "value", .number = 2, .kind = .text },
    };
};

/// One header of a request.
pub const HTTPHeader = struct {
    name: []const u8 = "",
    value: []const HTTPPart = &.{},

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "value", .number = 2, .kind = .message },
    };
};

/// A piece of a body or header.
pub const HTTPPart = struct {
    literal: []const u8 = "",
    /// handle; not 0: it stands in the place of literal
    secret: u64 = 0,
    encoding: u32 = 0,

    pub const fields = [_]Field{
        .{ .name = "literal", .number = 1, .kind = .bytes },
        .{ .name = "secret", .number = 2, .kind = .varint },
        .{ .name = "encoding", .number = 3, .kind = .varint },
    };
};

/// Reply of http.send.
pub const HTTPReply = struct {
    status: u64 = 0,
    headers: []const HTTPField = &.{},
    body: []const u8 = "",
    /// handles, one of each of extract; 0 where there is no text
    secrets: []const u64 = &.{},

    pub const fields = [_]Field{
        .{ .name = "status", .number = 1, .kind = .varint },
        .{ .name = "headers", .number = 2, .kind = .message },
        .{ .name = "body", .number = 3, .kind = .bytes },
        .{ .name = "secrets", .number = 4, .kind = .varint },
    };
};

/// Request of http.send.
pub const HTTPRequest = struct {
    /// handle that came with the call; 0: url is a whole one
    endpoint: u64 = 0,
    /// with an endpoint: path and query below it
    url: []const u8 = "",
    /// empty: GET
    method: []const u8 = "",
    headers: []const HTTPHeader = &.{},
    body: []const HTTPPart = &.{},
    /// of the reply's body; 0: the host's bound
    max_bytes: u64 = 0,
    /// 0: what is left of the call
    timeout_ms: u64 = 0,
    /// JSON pointers: texts of the reply that become secrets
    extract: []const []const u8 = &.{},
    /// JSON pointers: parts of the reply that become null
    hide: []const []const u8 = &.{},

    pub const fields = [_]Field{
        .{ .name = "endpoint", .number = 1, .kind = .varint },
        .{ .name = "url", .number = 2, .kind = .text },
        .{ .name = "method", .number = 3, .kind = .text },
        .{ .name = "headers", .number = 4, .kind = .message },
        .{ .name = "body", .number = 5, .kind = .message },
        .{ .name = "max_bytes", .number = 6, .kind = .varint },
        .{ .name = "timeout_ms", .number = 7, .kind = .varint },
        .{ .name = "extract", .number = 8, .kind = .text },
        .{ .name = "hide", .number = 9, .kind = .text },
    };
};

/// Reply of ledger.open: where a sandbox's ledger stands.
pub const Head = struct {
    /// the claim that may append
    epoch: u64 = 0,
    /// highest step, -1 when there is none
    last_step: i64 = 0,
    /// highest time, Unix milliseconds, 0 when there is none
    max_ts: i64 = 0,
    /// rows
    entries: u64 = 0,
    /// of the last segment, empty when there is none
    hash: []const u8 = "",
    /// of the last segment, empty when there is none
    segment_id: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "epoch", .number = 1, .kind = .varint },
        .{ .name = "last_step", .number = 2, .kind = .zigzag },
        .{ .name = "max_ts", .number = 3, .kind = .varint },
        .{ .name = "entries", .number = 4, .kind = .varint },
        .{ .name = "hash", .number = 5, .kind = .bytes },
        .{ .name = "segment_id", .number = 6, .kind = .bytes },
    };
};

/// Reply of health.
pub const HealthReply = struct {
    message: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "message", .number = 1, .kind = .text },
    };
};

/// Request of instances.put.
pub const Instance = struct {
    key: []const u8 = "",
    provider: []const u8 = "",
    provider_sandbox_id: []const u8 = "",
    latest_snapshot_id: ?[]const u8 = null,
    thread_id: []const u8 = "",
    latest_run_id: ?[]const u8 = null,
    /// Unix milliseconds; 0: the store's clock
    updated_at: i64 = 0,

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
        .{ .name = "provider", .number = 2, .kind = .text },
        .{ .name = "provider_sandbox_id", .number = 3, .kind = .text },
        .{ .name = "latest_snapshot_id", .number = 4, .kind = .text },
        .{ .name = "thread_id", .number = 5, .kind = .text },
        .{ .name = "latest_run_id", .number = 6, .kind = .text },
        .{ .name = "updated_at", .number = 7, .kind = .varint },
    };
};

/// Request of instances.delete_if.
pub const InstanceDeleteIf = struct {
    key: []const u8 = "",
    /// provider sandbox id of the stored record
    expected: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
        .{ .name = "expected", .number = 2, .kind = .text },
    };
};

/// Request of instances.list.
pub const InstanceListRequest = struct {
    /// strictly, Unix milliseconds
    updated_before: ?i64 = null,
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "updated_before", .number = 1, .kind = .varint },
        .{ .name = "cursor", .number = 2, .kind = .bytes },
        .{ .name = "limit", .number = 3, .kind = .varint },
    };
};

/// Request of instances.put_if.
pub const InstancePutIf = struct {
    instance: Instance = .{},
    /// provider sandbox id of the stored record; absent: there is none
    expected: ?[]const u8 = null,

    pub const fields = [_]Field{
        .{ .name = "instance", .number = 1, .kind = .message },
        .{ .name = "expected", .number = 2, .kind = .text },
    };
};

/// Request that names one thing: the key of an instance, the id of a run or of a thread, the run of a log.
pub const KeyRequest = struct {
    key: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
    };
};

/// Request of ledger.last_checkpoint.
pub const LastCheckpointRequest = struct {
    key: SandboxKey = .{},
    /// empty: any
    tag: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .message },
        .{ .name = "tag", .number = 2, .kind = .text },
    };
};

/// Request of locks.renew and locks.release.
pub const LeaseRequest = struct {
    key: []const u8 = "",
    token: []const u8 = "",
    /// locks.renew: from now on
    ttl_ms: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
        .{ .name = "token", .number = 2, .kind = .text },
        .{ .name = "ttl_ms", .number = 3, .kind = .varint },
    };
};

/// Reply of ledger.append: the batch is durable.
pub const LedgerAppendReply = struct {
    /// this identical batch had been applied before
    already: bool = false,

    pub const fields = [_]Field{
        .{ .name = "already", .number = 1, .kind = .varint },
    };
};

/// Request of ledger.append. The entries stay on the host, behind handles.
pub const LedgerAppendRequest = struct {
    /// batch handle
    entries: u64 = 0,
    /// batch handle
    segments: u64 = 0,
    entry_count: u64 = 0,
    segment_count: u64 = 0,
    /// bytes of text in the entries
    size: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "entries", .number = 1, .kind = .varint },
        .{ .name = "segments", .number = 2, .kind = .varint },
        .{ .name = "entry_count", .number = 3, .kind = .varint },
        .{ .name = "segment_count", .number = 4, .kind = .varint },
        .{ .name = "size", .number = 5, .kind = .varint },
    };
};

/// Request of ledger.open, which claims a sandbox's ledger for one driver.
pub const LedgerOpenRequest = struct {
    key: SandboxKey = .{},

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .message },
    };
};

/// Request of ledger.read. An empty key reads every sandbox's entries.
pub const LedgerReadRequest = struct {
    key: SandboxKey = .{},
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,
    /// stop after the row that passes this; 0 lets the guest choose
    max_bytes: u64 = 0,
    /// not 0: the page is the last so many rows at most; the cursor is empty then
    last: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .message },
        .{ .name = "cursor", .number = 2, .kind = .bytes },
        .{ .name = "limit", .number = 3, .kind = .varint },
        .{ .name = "max_bytes", .number = 4, .kind = .varint },
        .{ .name = "last", .number = 5, .kind = .varint },
    };
};

/// Request of ledger.list_sandboxes. What is absent or empty does not filter.
pub const ListSandboxesRequest = struct {
    name: []const u8 = "",
    status: []const u8 = "",
    /// 0 lists nothing
    limit: ?u64 = null,
    /// strictly smaller start, Unix milliseconds
    before: ?i64 = null,
    run_id: []const u8 = "",
    resource_id: []const u8 = "",
    team_id: []const u8 = "",
    cursor: []const u8 = "",
    /// what the sandbox id begins with; a guest need not know it
    id_prefix: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "status", .number = 2, .kind = .text },
        .{ .name = "limit", .number = 3, .kind = .varint },
        .{ .name = "before", .number = 4, .kind = .varint },
        .{ .name = "run_id", .number = 5, .kind = .text },
        .{ .name = "resource_id", .number = 6, .kind = .text },
        .{ .name = "team_id", .number = 7, .kind = .text },
        .{ .name = "cursor", .number = 8, .kind = .bytes },
        .{ .name = "id_prefix", .number = 9, .kind = .text },
    };
};

/// Reply of locks.try_acquire.
pub const LockReply = struct {
    acquired: bool = false,
    /// when it was acquired
    token: []const u8 = "",
    /// when it was acquired: higher than any that the key had
    fence: u64 = 0,
    /// who holds it
    owner: []const u8 = "",
    /// how long, if it is not renewed
    left_ms: u64 = 0,
    /// the store's clock, Unix milliseconds
    now: i64 = 0,

    pub const fields = [_]Field{
        .{ .name = "acquired", .number = 1, .kind = .varint },
        .{ .name = "token", .number = 2, .kind = .text },
        .{ .name = "fence", .number = 3, .kind = .varint },
        .{ .name = "owner", .number = 4, .kind = .text },
        .{ .name = "left_ms", .number = 5, .kind = .varint },
        .{ .name = "now", .number = 6, .kind = .varint },
    };
};

/// Request of locks.try_acquire.
pub const LockRequest = struct {
    key: []const u8 = "",
    /// shown to those who find it busy
    owner: []const u8 = "",
    ttl_ms: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .text },
        .{ .name = "owner", .number = 2, .kind = .text },
        .{ .name = "ttl_ms", .number = 3, .kind = .varint },
    };
};

/// Request of log.append.
pub const LogAppendRequest = struct {
    run_id: []const u8 = "",
    epoch: u64 = 0,
    /// the offset that the log must end with
    after: ?u64 = null,
    /// batch handle; 0: no events
    events: u64 = 0,
    count: u64 = 0,
    /// bytes of data
    size: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "run_id", .number = 1, .kind = .text },
        .{ .name = "epoch", .number = 2, .kind = .varint },
        .{ .name = "after", .number = 3, .kind = .varint },
        .{ .name = "events", .number = 4, .kind = .varint },
        .{ .name = "count", .number = 5, .kind = .varint },
        .{ .name = "size", .number = 6, .kind = .varint },
    };
};

/// Reply of log.read.
pub const LogPage = struct {
    /// handle of the page, or 0
    rows: u64 = 0,
    /// the page itself when there is no handle
    table: []const u8 = "",
    /// offset of the last event that was ever stored
    tail: u64 = 0,
    /// offset of the last event that was removed
    dropped: u64 = 0,
    /// highest that the log has seen
    epoch: u64 = 0,
    closed: bool = false,
    /// there are events behind the last row
    more: bool = false,

    pub const fields = [_]Field{
        .{ .name = "rows", .number = 1, .kind = .varint },
        .{ .name = "table", .number = 2, .kind = .bytes },
        .{ .name = "tail", .number = 3, .kind = .varint },
        .{ .name = "dropped", .number = 4, .kind = .varint },
        .{ .name = "epoch", .number = 5, .kind = .varint },
        .{ .name = "closed", .number = 6, .kind = .varint },
        .{ .name = "more", .number = 7, .kind = .varint },
    };
};

/// Request of log.read.
pub const LogReadRequest = struct {
    run_id: []const u8 = "",
    /// offset that the page is behind
    after: u64 = 0,
    /// most events; 0 lets the guest choose
    limit: u64 = 0,
    /// stop after the event that passes this; 0 lets the guest choose
    max_bytes: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "run_id", .number = 1, .kind = .text },
        .{ .name = "after", .number = 2, .kind = .varint },
        .{ .name = "limit", .number = 3, .kind = .varint },
        .{ .name = "max_bytes", .number = 4, .kind = .varint },
    };
};

/// Reply of log.append.
pub const LogTail = struct {
    /// offset of the log's last event
    tail: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "tail", .number = 1, .kind = .varint },
    };
};

/// Reply of describe.
pub const Manifest = struct {
    name: []const u8 = "",
    version: []const u8 = "",
    /// "ledger", …
    kinds: []const []const u8 = &.{},
    /// optional operations that it has, by name
    optional: []const []const u8 = &.{},
    capabilities: []const Want = &.{},
    /// JSON Schema of [plugins.NAME.config]
    config_schema: []const u8 = "",
    state: u32 = 0,

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "version", .number = 2, .kind = .text },
        .{ .name = "kinds", .number = 3, .kind = .text },
        .{ .name = "optional", .number = 4, .kind = .text },
        .{ .name = "capabilities", .number = 5, .kind = .message },
        .{ .name = "config_schema", .number = 6, .kind = .text },
        .{ .name = "state", .number = 7, .kind = .varint },
    };
};

/// One binding of a sandbox.
pub const NamedBinding = struct {
    name: []const u8 = "",
    binding: Binding = .{},
    /// the broker can't say all of it
    partial: bool = false,

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "binding", .number = 2, .kind = .message },
        .{ .name = "partial", .number = 3, .kind = .varint },
    };
};

/// Request of ledger.list_heads and ledger.list_tombstones.
pub const PageRequest = struct {
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,
    /// stop after the row that passes this; 0 lets the guest choose
    max_bytes: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "cursor", .number = 1, .kind = .bytes },
        .{ .name = "limit", .number = 2, .kind = .varint },
        .{ .name = "max_bytes", .number = 3, .kind = .varint },
    };
};

/// Request of runs.list_reclaimable.
pub const ReclaimRequest = struct {
    /// "running" or "interrupted"
    status: []const u8 = "",
    ttl_ms: u64 = 0,
    /// what to reckon from, Unix milliseconds; 0: the store's clock
    now: i64 = 0,
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "status", .number = 1, .kind = .text },
        .{ .name = "ttl_ms", .number = 2, .kind = .varint },
        .{ .name = "now", .number = 3, .kind = .varint },
        .{ .name = "cursor", .number = 4, .kind = .bytes },
        .{ .name = "limit", .number = 5, .kind = .varint },
    };
};

/// The envelope of every request from the host to a guest.
pub const Request = struct {
    /// unique within the host's life
    call_id: u64 = 0,
    /// milliseconds left when the call was made; 0 is none
    deadline_ms: u64 = 0,
    /// W3C trace context, or empty
    traceparent: []const u8 = "",
    /// the operation's own message
    body: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "call_id", .number = 1, .kind = .varint },
        .{ .name = "deadline_ms", .number = 2, .kind = .varint },
        .{ .name = "traceparent", .number = 3, .kind = .text },
        .{ .name = "body", .number = 4, .kind = .bytes },
    };
};

/// A page of rows: behind a handle when rows is not 0, else in table.
pub const RowsReply = struct {
    rows: u64 = 0,
    table: []const u8 = "",
    /// where the next page starts, opaque
    cursor: []const u8 = "",
    more: bool = false,
    /// the store's clock, Unix milliseconds, of operations that tell it
    now: i64 = 0,

    pub const fields = [_]Field{
        .{ .name = "rows", .number = 1, .kind = .varint },
        .{ .name = "table", .number = 2, .kind = .bytes },
        .{ .name = "cursor", .number = 3, .kind = .bytes },
        .{ .name = "more", .number = 4, .kind = .varint },
        .{ .name = "now", .number = 5, .kind = .varint },
    };
};

/// Request of runs.create_or_get.
pub const RunCreate = struct {
    run_id: []const u8 = "",
    thread_id: []const u8 = "",
    status: []const u8 = "",
    /// Unix milliseconds; absent: the store's clock
    started_at: ?i64 = null,
    sandbox_key: ?[]const u8 = null,
    /// only runs.secret gives it out
    secret: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "run_id", .number = 1, .kind = .text },
        .{ .name = "thread_id", .number = 2, .kind = .text },
        .{ .name = "status", .number = 3, .kind = .text },
        .{ .name = "started_at", .number = 4, .kind = .varint },
        .{ .name = "sandbox_key", .number = 5, .kind = .text },
        .{ .name = "secret", .number = 6, .kind = .bytes },
    };
};

/// Request of runs.list_by_thread and runs.list.
pub const RunListRequest = struct {
    thread_id: []const u8 = "",
    status: []const u8 = "",
    /// strictly, Unix milliseconds
    finished_before: ?i64 = null,
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "thread_id", .number = 1, .kind = .text },
        .{ .name = "status", .number = 2, .kind = .text },
        .{ .name = "finished_before", .number = 3, .kind = .varint },
        .{ .name = "cursor", .number = 4, .kind = .bytes },
        .{ .name = "limit", .number = 5, .kind = .varint },
    };
};

/// Request of runs.patch and runs.patch_if.
pub const RunPatch = struct {
    run_id: []const u8 = "",
    /// runs.patch_if: only a run of this driver epoch that has not ended
    epoch: ?u64 = null,
    status: ?[]const u8 = null,
    finished_at: ?i64 = null,
    /// with it the error is replaced, code and all
    error_message: ?[]const u8 = null,
    error_code: ?[]const u8 = null,
    /// JSON
    usage: []const u8 = "",
    sandbox_key: ?[]const u8 = null,
    detached_since: ?i64 = null,
    cancel_requested: ?bool = null,
    driver_epoch: ?u64 = null,
    /// names of fields that become absent
    clear: []const []const u8 = &.{},
    /// names of fields that get the time of the store's clock
    now: []const []const u8 = &.{},

    pub const fields = [_]Field{
        .{ .name = "run_id", .number = 1, .kind = .text },
        .{ .name = "epoch", .number = 2, .kind = .varint },
        .{ .name = "status", .number = 3, .kind = .text },
        .{ .name = "finished_at", .number = 4, .kind = .varint },
        .{ .name = "error_message", .number = 5, .kind = .text },
        .{ .name = "error_code", .number = 6, .kind = .text },
        .{ .name = "usage", .number = 7, .kind = .bytes },
        .{ .name = "sandbox_key", .number = 8, .kind = .text },
        .{ .name = "detached_since", .number = 9, .kind = .varint },
        .{ .name = "cancel_requested", .number = 10, .kind = .varint },
        .{ .name = "driver_epoch", .number = 11, .kind = .varint },
        .{ .name = "clear", .number = 12, .kind = .text },
        .{ .name = "now", .number = 13, .kind = .text },
    };
};

/// Reply of operations on one run.
pub const RunReply = struct {
    outcome: u32 = 0,
    /// handle of a page of one row, or 0
    rows: u64 = 0,
    /// the page itself when there is no handle
    table: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "outcome", .number = 1, .kind = .varint },
        .{ .name = "rows", .number = 2, .kind = .varint },
        .{ .name = "table", .number = 3, .kind = .bytes },
    };
};

/// Reply of runs.secret.
pub const RunSecret = struct {
    /// empty: there is none
    secret: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "secret", .number = 1, .kind = .bytes },
    };
};

/// Request of sql.exec: a program, whose steps run in order in one transaction.
pub const SQLExec = struct {
    /// a granted database, by name
    database: []const u8 = "",
    read_only: bool = false,
    /// at most 4,096, with 65,536 parameters in all of them together
    steps: []const SQLStep = &.{},

    pub const fields = [_]Field{
        .{ .name = "database", .number = 1, .kind = .text },
        .{ .name = "read_only", .number = 2, .kind = .varint },
        .{ .name = "steps", .number = 3, .kind = .message },
    };
};

/// Reply of sql.exec: one result a step.
pub const SQLExecReply = struct {
    steps: []const SQLStepResult = &.{},

    pub const fields = [_]Field{
        .{ .name = "steps", .number = 1, .kind = .message },
    };
};

/// One bound value, in the statement's order.
pub const SQLParam = struct {
    kind: u32 = 0,
    /// literal: exactly one tagged value as in a table; empty is null
    value: Value = .null,
    /// column and result
    column: u32 = 0,
    /// result
    step: u32 = 0,

    pub const fields = [_]Field{
        .{ .name = "kind", .number = 1, .kind = .varint },
        .{ .name = "value", .number = 2, .kind = .value },
        .{ .name = "column", .number = 3, .kind = .varint },
        .{ .name = "step", .number = 4, .kind = .varint },
    };
};

/// One statement.
pub const SQLStep = struct {
    sql: []const u8 = "",
    params: []const SQLParam = &.{},
    /// 0: run once; else a handle: run for each of its rows
    batch: u64 = 0,
    /// the same statement for many_rows rows at once; optional
    many_sql: []const u8 = "",
    many_rows: u64 = 0,
    /// rows that each run must change, or return when it returns rows
    expect: ?u64 = null,
    /// when expect is not met; conflict when 0
    mismatch_code: u32 = 0,
    mismatch_message: []const u8 = "",
    result: u32 = 0,
    /// 0: no bound but the host's
    max_rows: u64 = 0,
    /// stop after the row that passes this; 0: no bound but the host's
    max_bytes: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "sql", .number = 1, .kind = .text },
        .{ .name = "params", .number = 2, .kind = .message },
        .{ .name = "batch", .number = 3, .kind = .varint },
        .{ .name = "many_sql", .number = 4, .kind = .text },
        .{ .name = "many_rows", .number = 5, .kind = .varint },
        .{ .name = "expect", .number = 6, .kind = .varint },
        .{ .name = "mismatch_code", .number = 7, .kind = .varint },
        .{ .name = "mismatch_message", .number = 8, .kind = .text },
        .{ .name = "result", .number = 9, .kind = .varint },
        .{ .name = "max_rows", .number = 10, .kind = .varint },
        .{ .name = "max_bytes", .number = 11, .kind = .varint },
    };
};

/// What a step did.
pub const SQLStepResult = struct {
    /// rows inserted, changed or deleted, over all runs
    affected: u64 = 0,
    /// rows kept
    row_count: u64 = 0,
    /// inline: a table
    rows: []const u8 = "",
    /// handle
    handle: u64 = 0,
    /// handle: the last row kept, as a table of one row
    last: []const u8 = "",
    /// a bound ended the rows before the statement did
    more: bool = false,

    pub const fields = [_]Field{
        .{ .name = "affected", .number = 1, .kind = .varint },
        .{ .name = "row_count", .number = 2, .kind = .varint },
        .{ .name = "rows", .number = 3, .kind = .bytes },
        .{ .name = "handle", .number = 4, .kind = .varint },
        .{ .name = "last", .number = 5, .kind = .bytes },
        .{ .name = "more", .number = 6, .kind = .varint },
    };
};

/// Request of runs.count_by_sandbox.
pub const SandboxCountRequest = struct {
    sandbox_key: []const u8 = "",
    /// a run that does not count
    except: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "sandbox_key", .number = 1, .kind = .text },
        .{ .name = "except", .number = 2, .kind = .text },
    };
};

/// Names one sandbox's ledger.
pub const SandboxKey = struct {
    name: []const u8 = "",
    sandbox_id: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "sandbox_id", .number = 2, .kind = .text },
    };
};

/// Request of ledger.list_checkpoints and ledger.list_segments.
pub const SandboxPageRequest = struct {
    key: SandboxKey = .{},
    /// of the page before; empty starts at the beginning
    cursor: []const u8 = "",
    /// most rows; 0 lets the guest choose
    limit: u64 = 0,
    /// stop after the row that passes this; 0 lets the guest choose
    max_bytes: u64 = 0,

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .message },
        .{ .name = "cursor", .number = 2, .kind = .bytes },
        .{ .name = "limit", .number = 3, .kind = .varint },
        .{ .name = "max_bytes", .number = 4, .kind = .varint },
    };
};

/// Request of ledger.get_sandbox, ledger.delete_sandbox and ledger.usage.
pub const SandboxRequest = struct {
    key: SandboxKey = .{},

    pub const fields = [_]Field{
        .{ .name = "key", .number = 1, .kind = .message },
    };
};

/// Request of secret.get.
pub const SecretGet = struct {
    name: []const u8 = "",
    /// one that secret.keep kept
    kept: bool = false,

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "kept", .number = 2, .kind = .varint },
    };
};

/// Request of secret.keep.
pub const SecretKeep = struct {
    name: []const u8 = "",
    /// handle; 0 forgets
    secret: u64 = 0,
    /// 0: until the plugin ends
    ttl_ms: u64 = 0,
    /// nothing secret
    note: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "secret", .number = 2, .kind = .varint },
        .{ .name = "ttl_ms", .number = 3, .kind = .varint },
        .{ .name = "note", .number = 4, .kind = .bytes },
    };
};

/// Reply of secret.get.
pub const SecretReply = struct {
    /// handle
    secret: u64 = 0,
    /// another number when the value is another
    version: u64 = 0,
    /// of a kept one: what is left; 0: no end
    expires_ms: u64 = 0,
    /// of a kept one
    note: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "secret", .number = 1, .kind = .varint },
        .{ .name = "version", .number = 2, .kind = .varint },
        .{ .name = "expires_ms", .number = 3, .kind = .varint },
        .{ .name = "note", .number = 4, .kind = .bytes },
    };
};

/// Where a credential's value comes from.
pub const Source = struct {
    /// "env" or "external"; empty is "external"
    @"type": []const u8 = "",
    /// env
    var_name: []const u8 = "",
    /// external: in the broker's own words
    ref: []const u8 = "",

    pub const fields = [_]Field{
        .{ .name = "type", .number = 1, .kind = .text },
        .{ .name = "var_name", .number = 2, .kind = .text },
        .{ .name = "ref", .number = 3, .kind = .text },
    };
};

/// Reply of ledger.stats.
pub const Stats = struct {
    /// -1 when it can't be told cheaply
    entries: i64 = 0,
    /// on disk, with indexes and free space; -1 when unknown
    storage_bytes: i64 = 0,
    schema_version: i64 = 0,

    pub const fields = [_]Field{
        .{ .name = "entries", .number = 1, .kind = .zigzag },
        .{ .name = "storage_bytes", .number = 2, .kind = .zigzag },
        .{ .name = "schema_version", .number = 3, .kind = .varint },
    };
};

/// Puts the value in the place of a text.
pub const Substitution = struct {
    placeholder: []const u8 = "",
    /// path, query, header, body
    in: []const []const u8 = &.{},

    pub const fields = [_]Field{
        .{ .name = "placeholder", .number = 1, .kind = .text },
        .{ .name = "in", .number = 2, .kind = .text },
    };
};

/// Reply of ledger.usage.
pub const Usage = struct {
    entries: u64 = 0,
    /// of payloads and errors as text
    bytes: u64 = 0,
    /// Unix milliseconds, 0 without entries
    first_ts: i64 = 0,
    last_ts: i64 = 0,
    /// it has sandbox.created
    created: bool = false,
    /// it has sandbox.closed
    closed: bool = false,

    pub const fields = [_]Field{
        .{ .name = "entries", .number = 1, .kind = .varint },
        .{ .name = "bytes", .number = 2, .kind = .varint },
        .{ .name = "first_ts", .number = 3, .kind = .varint },
        .{ .name = "last_ts", .number = 4, .kind = .varint },
        .{ .name = "created", .number = 5, .kind = .varint },
        .{ .name = "closed", .number = 6, .kind = .varint },
    };
};

/// A capability that a guest asks for.
pub const Want = struct {
    /// "sql", …
    name: []const u8 = "",
    /// what of it: for sql the name of a database
    resource: []const u8 = "",
    /// shown to the operator
    reason: []const u8 = "",
    /// the guest does without when it is not granted
    optional: bool = false,

    pub const fields = [_]Field{
        .{ .name = "name", .number = 1, .kind = .text },
        .{ .name = "resource", .number = 2, .kind = .text },
        .{ .name = "reason", .number = 3, .kind = .text },
        .{ .name = "optional", .number = 4, .kind = .varint },
    };
};

/// Numbers of operations: of a guest below 0x1000, of the host from there on.
pub const Op = struct {
    pub const describe: u32 = 0x01;
    pub const configure: u32 = 0x02;
    pub const close: u32 = 0x03;
    pub const health: u32 = 0x04;
    pub const echo: u32 = 0x05;
    pub const ledger_open: u32 = 0x10;
    pub const ledger_append: u32 = 0x11;
    pub const ledger_read: u32 = 0x12;
    pub const ledger_last_checkpoint: u32 = 0x13;
    pub const ledger_list_checkpoints: u32 = 0x14;
    pub const ledger_list_sandboxes: u32 = 0x15;
    pub const ledger_get_sandbox: u32 = 0x16;
    pub const ledger_find_sandbox: u32 = 0x17;
    pub const ledger_delete_sandbox: u32 = 0x18;
    pub const ledger_list_heads: u32 = 0x19;
    pub const ledger_list_segments: u32 = 0x1a;
    pub const ledger_list_tombstones: u32 = 0x1b;
    pub const ledger_usage: u32 = 0x1c;
    pub const ledger_stats: u32 = 0x1d;
    pub const environment_get: u32 = 0x20;
    pub const environment_save: u32 = 0x21;
    pub const environment_delete: u32 = 0x22;
    pub const environment_list: u32 = 0x23;
    pub const instances_get: u32 = 0x30;
    pub const instances_put: u32 = 0x31;
    pub const instances_delete: u32 = 0x32;
    pub const instances_put_if: u32 = 0x33;
    pub const instances_delete_if: u32 = 0x34;
    pub const instances_list: u32 = 0x35;
    pub const runs_create_or_get: u32 = 0x40;
    pub const runs_patch: u32 = 0x41;
    pub const runs_get: u32 = 0x42;
    pub const runs_find_active: u32 = 0x43;
    pub const runs_patch_if: u32 = 0x44;
    pub const runs_claim: u32 = 0x45;
    pub const runs_list_by_thread: u32 = 0x46;
    pub const runs_list: u32 = 0x47;
    pub const runs_list_reclaimable: u32 = 0x48;
    pub const runs_count_by_sandbox: u32 = 0x49;
    pub const runs_secret: u32 = 0x4a;
    pub const runs_delete: u32 = 0x4b;
    pub const log_append: u32 = 0x50;
    pub const log_read: u32 = 0x51;
    pub const log_close: u32 = 0x52;
    pub const log_truncate: u32 = 0x53;
    pub const locks_try_acquire: u32 = 0x60;
    pub const locks_renew: u32 = 0x61;
    pub const locks_release: u32 = 0x62;
    pub const broker_set: u32 = 0x70;
    pub const broker_patch: u32 = 0x71;
    pub const broker_remove: u32 = 0x72;
    pub const broker_list_bindings: u32 = 0x73;
    pub const broker_resolve: u32 = 0x74;
    pub const sql_exec: u32 = 0x1000;
    pub const batch_read: u32 = 0x1010;
    pub const batch_cell: u32 = 0x1011;
    pub const http_send: u32 = 0x1020;
    pub const secret_get: u32 = 0x1030;
    pub const secret_keep: u32 = 0x1031;
};

/// Columns of the entries batch of LedgerAppend.
pub const EntryColumn = struct {
    /// i64, index into the segments batch
    pub const segment: usize = 0;
    /// text
    pub const sandbox_id: usize = 1;
    /// text
    pub const name: usize = 2;
    /// i64
    pub const step: usize = 3;
    /// i64 or null
    pub const branch: usize = 4;
    /// text
    pub const event: usize = 5;
    /// json or null
    pub const payload: usize = 6;
    /// text or null
    pub const @"error": usize = 7;
    /// i64, Unix milliseconds
    pub const ts: usize = 8;
    /// How many columns there are.
    pub const columns: usize = 9;
};

/// Columns of the segments batch of LedgerAppend.
pub const SegmentColumn = struct {
    /// text
    pub const sandbox_id: usize = 0;
    /// text
    pub const name: usize = 1;
    /// i64, the claim that it is written under
    pub const epoch: usize = 2;
    /// blob, hash of the segment before it, empty for the first
    pub const previous: usize = 3;
    /// blob, 16 random bytes
    pub const id: usize = 4;
    /// blob, 32 bytes
    pub const hash: usize = 5;
    /// blob, 32 bytes an entry
    pub const leaves: usize = 6;
    /// i64, entries in it
    pub const count: usize = 7;
    /// i64, entries of the batch that follow its last one
    pub const after: usize = 8;
    /// i64, highest ts in it
    pub const max_ts: usize = 9;
    /// How many columns there are.
    pub const columns: usize = 10;
};

/// Columns of the pages of LedgerRead and LedgerLastCheckpoint.
pub const RowColumn = struct {
    pub const id: usize = 0;
    pub const sandbox_id: usize = 1;
    pub const name: usize = 2;
    pub const step: usize = 3;
    pub const branch: usize = 4;
    pub const event: usize = 5;
    pub const payload: usize = 6;
    pub const @"error": usize = 7;
    pub const ts: usize = 8;
    /// How many columns there are.
    pub const columns: usize = 9;
};

/// Columns of the pages of LedgerListSandboxes, LedgerGetSandbox and LedgerFindSandbox.
pub const SandboxColumn = struct {
    pub const name: usize = 0;
    pub const id: usize = 1;
    /// text, "running" or "completed"
    pub const status: usize = 2;
    /// i64, Unix milliseconds
    pub const started: usize = 3;
    /// i64 or null
    pub const completed: usize = 4;
    /// i64
    pub const execs: usize = 5;
    /// text
    pub const run_id: usize = 6;
    /// text or null
    pub const resource: usize = 7;
    /// text or null
    pub const team: usize = 8;
    /// text or null
    pub const parent: usize = 9;
    /// i64, id of the entry that started is of
    pub const created_id: usize = 10;
    /// How many columns there are.
    pub const columns: usize = 11;
};

/// Columns of the pages of LedgerListCheckpoints.
pub const CheckpointColumn = struct {
    /// text
    pub const snapshot: usize = 0;
    /// text or null
    pub const tag: usize = 1;
    /// i64, Unix milliseconds
    pub const created: usize = 2;
    /// i64, id of the entry
    pub const id: usize = 3;
    /// How many columns there are.
    pub const columns: usize = 4;
};

/// Columns of the page of EnvironmentList.
pub const EnvironmentColumn = struct {
    pub const name: usize = 0;
    pub const snapshot: usize = 1;
    pub const image: usize = 2;
    pub const built: usize = 3;
    /// How many columns there are.
    pub const columns: usize = 4;
};

/// Columns of the pages of LedgerListHeads.
pub const HeadColumn = struct {
    /// text
    pub const name: usize = 0;
    /// text
    pub const sandbox_id: usize = 1;
    /// i64, 0 when nobody claimed it
    pub const epoch: usize = 2;
    /// blob, of the last segment, empty when there is none
    pub const hash: usize = 3;
    /// blob, of the last segment, empty when there is none
    pub const segment_id: usize = 4;
    /// i64, that segments hold
    pub const entries: usize = 5;
    /// i64, Unix milliseconds, of entries that segments hold
    pub const max_ts: usize = 6;
    /// How many columns there are.
    pub const columns: usize = 7;
};

/// Columns of the pages of LedgerListSegments.
pub const StoredColumn = struct {
    /// i64, of its first entry
    pub const first_id: usize = 0;
    /// i64, of its last entry
    pub const last_id: usize = 1;
    /// blob, 16 bytes
    pub const id: usize = 2;
    /// blob, 32 bytes, empty for the first
    pub const previous: usize = 3;
    /// blob, 32 bytes
    pub const hash: usize = 4;
    /// blob, 32 bytes an entry
    pub const leaves: usize = 5;
    /// How many columns there are.
    pub const columns: usize = 6;
};

/// Columns of the pages of LedgerListTombstones.
pub const TombstoneColumn = struct {
    /// text
    pub const name: usize = 0;
    /// text
    pub const sandbox_id: usize = 1;
    /// i64, that went, over all deletions
    pub const entries: usize = 2;
    /// blob, of the last segment, empty when there was none
    pub const hash: usize = 3;
    /// i64, Unix milliseconds
    pub const deleted: usize = 4;
    /// How many columns there are.
    pub const columns: usize = 5;
};

/// Columns of the batch of LogAppend.
pub const LogEventColumn = struct {
    /// text
    pub const run: usize = 0;
    /// text
    pub const kind: usize = 1;
    /// blob
    pub const data: usize = 2;
    /// i64, events of the batch that follow it
    pub const behind: usize = 3;
    /// How many columns there are.
    pub const columns: usize = 4;
};

/// Columns of the pages of LogRead.
pub const LogColumn = struct {
    /// i64, from 1
    pub const offset: usize = 0;
    /// i64, the store's clock, Unix milliseconds
    pub const ts: usize = 1;
    /// text
    pub const kind: usize = 2;
    /// blob
    pub const data: usize = 3;
    /// How many columns there are.
    pub const columns: usize = 4;
};

/// Columns of the pages of InstancesGet and InstancesList.
pub const InstanceColumn = struct {
    /// text
    pub const key: usize = 0;
    /// text
    pub const provider: usize = 1;
    /// text, the provider's
    pub const sandbox_id: usize = 2;
    /// text or null
    pub const snapshot: usize = 3;
    /// text
    pub const thread: usize = 4;
    /// text or null
    pub const run: usize = 5;
    /// i64, Unix milliseconds
    pub const updated: usize = 6;
    /// How many columns there are.
    pub const columns: usize = 7;
};

/// Columns of a run, in every page of the runs group.
pub const RunColumn = struct {
    /// text
    pub const id: usize = 0;
    /// text
    pub const thread: usize = 1;
    /// text
    pub const status: usize = 2;
    /// i64, Unix milliseconds
    pub const started: usize = 3;
    /// i64 or null
    pub const finished: usize = 4;
    /// text or null
    pub const error_message: usize = 5;
    /// text or null
    pub const error_code: usize = 6;
    /// text or null, JSON
    pub const usage: usize = 7;
    /// text or null
    pub const sandbox_key: usize = 8;
    /// i64 or null
    pub const detached: usize = 9;
    /// i64, 0 or 1, or null
    pub const cancel_requested: usize = 10;
    /// i64 or null
    pub const driver_epoch: usize = 11;
    /// How many columns there are.
    pub const columns: usize = 12;
};

/// One operation of a guest.
pub const Operation = struct { number: u32, name: []const u8, method: []const u8, Request: type, Reply: type };

/// The operations that a plugin may have, by the name of its function.
pub const operations = [_]Operation{
    .{ .number = 0x02, .name = "configure", .method = "configure", .Request = ConfigureRequest, .Reply = ConfigureReply },
    .{ .number = 0x03, .name = "close", .method = "close", .Request = Empty, .Reply = Empty },
    .{ .number = 0x04, .name = "health", .method = "health", .Request = Empty, .Reply = HealthReply },
    .{ .number = 0x10, .name = "ledger.open", .method = "ledger_open", .Request = LedgerOpenRequest, .Reply = Head },
    .{ .number = 0x11, .name = "ledger.append", .method = "ledger_append", .Request = LedgerAppendRequest, .Reply = LedgerAppendReply },
    .{ .number = 0x12, .name = "ledger.read", .method = "ledger_read", .Request = LedgerReadRequest, .Reply = RowsReply },
    .{ .number = 0x13, .name = "ledger.last_checkpoint", .method = "ledger_last_checkpoint", .Request = LastCheckpointRequest, .Reply = RowsReply },
    .{ .number = 0x14, .name = "ledger.list_checkpoints", .method = "ledger_list_checkpoints", .Request = SandboxPageRequest, .Reply = RowsReply },
    .{ .number = 0x15, .name = "ledger.list_sandboxes", .method = "ledger_list_sandboxes", .Request = ListSandboxesRequest, .Reply = RowsReply },
    .{ .number = 0x16, .name = "ledger.get_sandbox", .method = "ledger_get_sandbox", .Request = SandboxRequest, .Reply = RowsReply },
    .{ .number = 0x17, .name = "ledger.find_sandbox", .method = "ledger_find_sandbox", .Request = FindSandboxRequest, .Reply = RowsReply },
    .{ .number = 0x18, .name = "ledger.delete_sandbox", .method = "ledger_delete_sandbox", .Request = SandboxRequest, .Reply = DeleteReply },
    .{ .number = 0x19, .name = "ledger.list_heads", .method = "ledger_list_heads", .Request = PageRequest, .Reply = RowsReply },
    .{ .number = 0x1a, .name = "ledger.list_segments", .method = "ledger_list_segments", .Request = SandboxPageRequest, .Reply = RowsReply },
    .{ .number = 0x1b, .name = "ledger.list_tombstones", .method = "ledger_list_tombstones", .Request = PageRequest, .Reply = RowsReply },
    .{ .number = 0x1c, .name = "ledger.usage", .method = "ledger_usage", .Request = SandboxRequest, .Reply = Usage },
    .{ .number = 0x1d, .name = "ledger.stats", .method = "ledger_stats", .Request = Empty, .Reply = Stats },
    .{ .number = 0x20, .name = "environment.get", .method = "environment_get", .Request = EnvironmentRequest, .Reply = Environment },
    .{ .number = 0x21, .name = "environment.save", .method = "environment_save", .Request = Environment, .Reply = Empty },
    .{ .number = 0x22, .name = "environment.delete", .method = "environment_delete", .Request = EnvironmentRequest, .Reply = Empty },
    .{ .number = 0x23, .name = "environment.list", .method = "environment_list", .Request = Empty, .Reply = RowsReply },
    .{ .number = 0x30, .name = "instances.get", .method = "instances_get", .Request = KeyRequest, .Reply = RowsReply },
    .{ .number = 0x31, .name = "instances.put", .method = "instances_put", .Request = Instance, .Reply = Empty },
    .{ .number = 0x32, .name = "instances.delete", .method = "instances_delete", .Request = KeyRequest, .Reply = Empty },
    .{ .number = 0x33, .name = "instances.put_if", .method = "instances_put_if", .Request = InstancePutIf, .Reply = Applied },
    .{ .number = 0x34, .name = "instances.delete_if", .method = "instances_delete_if", .Request = InstanceDeleteIf, .Reply = Applied },
    .{ .number = 0x35, .name = "instances.list", .method = "instances_list", .Request = InstanceListRequest, .Reply = RowsReply },
    .{ .number = 0x40, .name = "runs.create_or_get", .method = "runs_create_or_get", .Request = RunCreate, .Reply = RunReply },
    .{ .number = 0x41, .name = "runs.patch", .method = "runs_patch", .Request = RunPatch, .Reply = RunReply },
    .{ .number = 0x42, .name = "runs.get", .method = "runs_get", .Request = KeyRequest, .Reply = RowsReply },
    .{ .number = 0x43, .name = "runs.find_active", .method = "runs_find_active", .Request = KeyRequest, .Reply = RowsReply },
    .{ .number = 0x44, .name = "runs.patch_if", .method = "runs_patch_if", .Request = RunPatch, .Reply = RunReply },
    .{ .number = 0x45, .name = "runs.claim", .method = "runs_claim", .Request = KeyRequest, .Reply = RunReply },
    .{ .number = 0x46, .name = "runs.list_by_thread", .method = "runs_list_by_thread", .Request = RunListRequest, .Reply = RowsReply },
    .{ .number = 0x47, .name = "runs.list", .method = "runs_list", .Request = RunListRequest, .Reply = RowsReply },
    .{ .number = 0x48, .name = "runs.list_reclaimable", .method = "runs_list_reclaimable", .Request = ReclaimRequest, .Reply = RowsReply },
    .{ .number = 0x49, .name = "runs.count_by_sandbox", .method = "runs_count_by_sandbox", .Request = SandboxCountRequest, .Reply = Count },
    .{ .number = 0x4a, .name = "runs.secret", .method = "runs_secret", .Request = KeyRequest, .Reply = RunSecret },
    .{ .number = 0x4b, .name = "runs.delete", .method = "runs_delete", .Request = KeyRequest, .Reply = RunReply },
    .{ .number = 0x50, .name = "log.append", .method = "log_append", .Request = LogAppendRequest, .Reply = LogTail },
    .{ .number = 0x51, .name = "log.read", .method = "log_read", .Request = LogReadRequest, .Reply = LogPage },
    .{ .number = 0x52, .name = "log.close", .method = "log_close", .Request = KeyRequest, .Reply = Empty },
    .{ .number = 0x53, .name = "log.truncate", .method = "log_truncate", .Request = KeyRequest, .Reply = DeleteReply },
    .{ .number = 0x60, .name = "locks.try_acquire", .method = "locks_try_acquire", .Request = LockRequest, .Reply = LockReply },
    .{ .number = 0x61, .name = "locks.renew", .method = "locks_renew", .Request = LeaseRequest, .Reply = Applied },
    .{ .number = 0x62, .name = "locks.release", .method = "locks_release", .Request = LeaseRequest, .Reply = Applied },
    .{ .number = 0x70, .name = "broker.set", .method = "broker_set", .Request = BrokerSetRequest, .Reply = Empty },
    .{ .number = 0x71, .name = "broker.patch", .method = "broker_patch", .Request = BrokerPatchRequest, .Reply = Empty },
    .{ .number = 0x72, .name = "broker.remove", .method = "broker_remove", .Request = BrokerRemoveRequest, .Reply = Empty },
    .{ .number = 0x73, .name = "broker.list_bindings", .method = "broker_list_bindings", .Request = BrokerListRequest, .Reply = BrokerListReply },
    .{ .number = 0x74, .name = "broker.resolve", .method = "broker_resolve", .Request = BrokerResolveRequest, .Reply = BrokerResolveReply },
};

/// All messages, for tests with the golden vectors.
pub const all = .{
    .{ "Applied", Applied },
    .{ "AuthHeader", AuthHeader },
    .{ "BatchBytes", BatchBytes },
    .{ "BatchCell", BatchCell },
    .{ "BatchRead", BatchRead },
    .{ "BatchRows", BatchRows },
    .{ "Binding", Binding },
    .{ "BrokerListReply", BrokerListReply },
    .{ "BrokerListRequest", BrokerListRequest },
    .{ "BrokerPatchRequest", BrokerPatchRequest },
    .{ "BrokerRemoveRequest", BrokerRemoveRequest },
    .{ "BrokerResolveReply", BrokerResolveReply },
    .{ "BrokerResolveRequest", BrokerResolveRequest },
    .{ "BrokerSetRequest", BrokerSetRequest },
    .{ "ConfigureReply", ConfigureReply },
    .{ "ConfigureRequest", ConfigureRequest },
    .{ "Count", Count },
    .{ "DeleteReply", DeleteReply },
    .{ "Diagnostic", Diagnostic },
    .{ "Empty", Empty },
    .{ "Environment", Environment },
    .{ "EnvironmentRequest", EnvironmentRequest },
    .{ "Error", Error },
    .{ "FindSandboxRequest", FindSandboxRequest },
    .{ "HTTPField", HTTPField },
    .{ "HTTPHeader", HTTPHeader },
    .{ "HTTPPart", HTTPPart },
    .{ "HTTPReply", HTTPReply },
    .{ "HTTPRequest", HTTPRequest },
    .{ "Head", Head },
    .{ "HealthReply", HealthReply },
    .{ "Instance", Instance },
    .{ "InstanceDeleteIf", InstanceDeleteIf },
    .{ "InstanceListRequest", InstanceListRequest },
    .{ "InstancePutIf", InstancePutIf },
    .{ "KeyRequest", KeyRequest },
    .{ "LastCheckpointRequest", LastCheckpointRequest },
    .{ "LeaseRequest", LeaseRequest },
    .{ "LedgerAppendReply", LedgerAppendReply },
    .{ "LedgerAppendRequest", LedgerAppendRequest },
    .{ "LedgerOpenRequest", LedgerOpenRequest },
    .{ "LedgerReadRequest", LedgerReadRequest },
    .{ "ListSandboxesRequest", ListSandboxesRequest },
    .{ "LockReply", LockReply },
    .{ "LockRequest", LockRequest },
    .{ "LogAppendRequest", LogAppendRequest },
    .{ "LogPage", LogPage },
    .{ "LogReadRequest", LogReadRequest },
    .{ "LogTail", LogTail },
    .{ "Manifest", Manifest },
    .{ "NamedBinding", NamedBinding },
    .{ "PageRequest", PageRequest },
    .{ "ReclaimRequest", ReclaimRequest },
    .{ "Request", Request },
    .{ "RowsReply", RowsReply },
    .{ "RunCreate", RunCreate },
    .{ "RunListRequest", RunListRequest },
    .{ "RunPatch", RunPatch },
    .{ "RunReply", RunReply },
    .{ "RunSecret", RunSecret },
    .{ "SQLExec", SQLExec },
    .{ "SQLExecReply", SQLExecReply },
    .{ "SQLParam", SQLParam },
    .{ "SQLStep", SQLStep },
    .{ "SQLStepResult", SQLStepResult },
    .{ "SandboxCountRequest", SandboxCountRequest },
    .{ "SandboxKey", SandboxKey },
    .{ "SandboxPageRequest", SandboxPageRequest },
    .{ "SandboxRequest", SandboxRequest },
    .{ "SecretGet", SecretGet },
    .{ "SecretKeep", SecretKeep },
    .{ "SecretReply", SecretReply },
    .{ "Source", Source },
    .{ "Stats", Stats },
    .{ "Substitution", Substitution },
    .{ "Usage", Usage },
    .{ "Want", Want },
};
