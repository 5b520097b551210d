// Written by internal/sdkgen from abi/. Do not edit.

//! Operations and columns of the ABI, and the trait that a plugin is.

use crate::error::Error;
use crate::messages::*;
use crate::wire::Message;

/// Numbers of operations: of a guest below 0x1000, of the host from there on.
pub mod op {
    pub const DESCRIBE: u32 = 0x01;
    pub const CONFIGURE: u32 = 0x02;
    pub const CLOSE: u32 = 0x03;
    pub const HEALTH: u32 = 0x04;
    pub const ECHO: u32 = 0x05;
    pub const LEDGER_OPEN: u32 = 0x10;
    pub const LEDGER_APPEND: u32 = 0x11;
    pub const LEDGER_READ: u32 = 0x12;
    pub const LEDGER_LAST_CHECKPOINT: u32 = 0x13;
    pub const LEDGER_LIST_CHECKPOINTS: u32 = 0x14;
    pub const LEDGER_LIST_SANDBOXES: u32 = 0x15;
    pub const LEDGER_GET_SANDBOX: u32 = 0x16;
    pub const LEDGER_FIND_SANDBOX: u32 = 0x17;
    pub const LEDGER_DELETE_SANDBOX: u32 = 0x18;
    pub const LEDGER_LIST_HEADS: u32 = 0x19;
    pub const LEDGER_LIST_SEGMENTS: u32 = 0x1a;
    pub const LEDGER_LIST_TOMBSTONES: u32 = 0x1b;
    pub const LEDGER_USAGE: u32 = 0x1c;
    pub const LEDGER_STATS: u32 = 0x1d;
    pub const ENVIRONMENT_GET: u32 = 0x20;
    pub const ENVIRONMENT_SAVE: u32 = 0x21;
    pub const ENVIRONMENT_DELETE: u32 = 0x22;
    pub const ENVIRONMENT_LIST: u32 = 0x23;
    pub const INSTANCES_GET: u32 = 0x30;
    pub const INSTANCES_PUT: u32 = 0x31;
    pub const INSTANCES_DELETE: u32 = 0x32;
    pub const INSTANCES_PUT_IF: u32 = 0x33;
    pub const INSTANCES_DELETE_IF: u32 = 0x34;
    pub const INSTANCES_LIST: u32 = 0x35;
    pub const RUNS_CREATE_OR_GET: u32 = 0x40;
    pub const RUNS_PATCH: u32 = 0x41;
    pub const RUNS_GET: u32 = 0x42;
    pub const RUNS_FIND_ACTIVE: u32 = 0x43;
    pub const RUNS_PATCH_IF: u32 = 0x44;
    pub const RUNS_CLAIM: u32 = 0x45;
    pub const RUNS_LIST_BY_THREAD: u32 = 0x46;
    pub const RUNS_LIST: u32 = 0x47;
    pub const RUNS_LIST_RECLAIMABLE: u32 = 0x48;
    pub const RUNS_COUNT_BY_SANDBOX: u32 = 0x49;
    pub const RUNS_SECRET: u32 = 0x4a;
    pub const RUNS_DELETE: u32 = 0x4b;
    pub const LOG_APPEND: u32 = 0x50;
    pub const LOG_READ: u32 = 0x51;
    pub const LOG_CLOSE: u32 = 0x52;
    pub const LOG_TRUNCATE: u32 = 0x53;
    pub const LOCKS_TRY_ACQUIRE: u32 = 0x60;
    pub const LOCKS_RENEW: u32 = 0x61;
    pub const LOCKS_RELEASE: u32 = 0x62;
    pub const BROKER_SET: u32 = 0x70;
    pub const BROKER_PATCH: u32 = 0x71;
    pub const BROKER_REMOVE: u32 = 0x72;
    pub const BROKER_LIST_BINDINGS: u32 = 0x73;
    pub const BROKER_RESOLVE: u32 = 0x74;
    pub const SQL_EXEC: u32 = 0x1000;
    pub const BATCH_READ: u32 = 0x1010;
    pub const BATCH_CELL: u32 = 0x1011;
    pub const HTTP_SEND: u32 = 0x1020;
    pub const SECRET_GET: u32 = 0x1030;
    pub const SECRET_KEEP: u32 = 0x1031;
}

/// Columns of tables, by the table's name.
pub mod column {
    /// Columns of the entries batch of LedgerAppend.
    pub mod entry {
        /// i64, index into the segments batch
        pub const SEGMENT: usize = 0;
        /// text
        pub const SANDBOX_ID: usize = 1;
        /// text
        pub const NAME: usize = 2;
        /// i64
        pub const STEP: usize = 3;
        /// i64 or null
        pub const BRANCH: usize = 4;
        /// text
        pub const EVENT: usize = 5;
        /// json or null
        pub const PAYLOAD: usize = 6;
        /// text or null
        pub const ERROR: usize = 7;
        /// i64, Unix milliseconds
        pub const TS: usize = 8;
        /// How many columns there are.
        pub const COLUMNS: usize = 9;
    }

    /// Columns of the segments batch of LedgerAppend.
    pub mod segment {
        /// text
        pub const SANDBOX_ID: usize = 0;
        /// text
        pub const NAME: usize = 1;
        /// i64, the claim that it is written under
        pub const EPOCH: usize = 2;
        /// blob, hash of the segment before it, empty for the first
        pub const PREVIOUS: usize = 3;
        /// blob, 16 random bytes
        pub const ID: usize = 4;
        /// blob, 32 bytes
        pub const HASH: usize = 5;
        /// blob, 32 bytes an entry
        pub const LEAVES: usize = 6;
        /// i64, entries in it
        pub const COUNT: usize = 7;
        /// i64, entries of the batch that follow its last one
        pub const AFTER: usize = 8;
        /// i64, highest ts in it
        pub const MAX_TS: usize = 9;
        /// How many columns there are.
        pub const COLUMNS: usize = 10;
    }

    /// Columns of the pages of LedgerRead and LedgerLastCheckpoint.
    pub mod row {
        pub const ID: usize = 0;
        pub const SANDBOX_ID: usize = 1;
        pub const NAME: usize = 2;
        pub const STEP: usize = 3;
        pub const BRANCH: usize = 4;
        pub const EVENT: usize = 5;
        pub const PAYLOAD: usize = 6;
        pub const ERROR: usize = 7;
        pub const TS: usize = 8;
        /// How many columns there are.
        pub const COLUMNS: usize = 9;
    }

    /// Columns of the pages of LedgerListSandboxes, LedgerGetSandbox and LedgerFindSandbox.
    pub mod sandbox {
        pub const NAME: usize = 0;
        pub const ID: usize = 1;
        /// text, "running" or "completed"
        pub const STATUS: usize = 2;
        /// i64, Unix milliseconds
        pub const STARTED: usize = 3;
        /// i64 or null
        pub const COMPLETED: usize = 4;
        /// i64
        pub const EXECS: usize = 5;
        /// text
        pub const RUN_ID: usize = 6;
        /// text or null
        pub const RESOURCE: usize = 7;
        /// text or null
        pub const TEAM: usize = 8;
        /// text or null
        pub const PARENT: usize = 9;
        /// i64, id of the entry that started is of
        pub const CREATED_ID: usize = 10;
        /// How many columns there are.
        pub const COLUMNS: usize = 11;
    }

    /// Columns of the pages of LedgerListCheckpoints.
    pub mod checkpoint {
        /// text
        pub const SNAPSHOT: usize = 0;
        /// text or null
        pub const TAG: usize = 1;
        /// i64, Unix milliseconds
        pub const CREATED: usize = 2;
        /// i64, id of the entry
        pub const ID: usize = 3;
        /// How many columns there are.
        pub const COLUMNS: usize = 4;
    }

    /// Columns of the page of EnvironmentList.
    pub mod environment {
        pub const NAME: usize = 0;
        pub const SNAPSHOT: usize = 1;
        pub const IMAGE: usize = 2;
        pub const BUILT: usize = 3;
        /// How many columns there are.
        pub const COLUMNS: usize = 4;
    }

    /// Columns of the pages of LedgerListHeads.
    pub mod head {
        /// text
        pub const NAME: usize = 0;
        /// text
        pub const SANDBOX_ID: usize = 1;
        /// i64, 0 when nobody claimed it
        pub const EPOCH: usize = 2;
        /// blob, of the last segment, empty when there is none
        pub const HASH: usize = 3;
        /// blob, of the last segment, empty when there is none
        pub const SEGMENT_ID: usize = 4;
        /// i64, that segments hold
        pub const ENTRIES: usize = 5;
        /// i64, Unix milliseconds, of entries that segments hold
        pub const MAX_TS: usize = 6;
        /// How many columns there are.
        pub const COLUMNS: usize = 7;
    }

    /// Columns of the pages of LedgerListSegments.
    pub mod stored {
        /// i64, of its first entry
        pub const FIRST_ID: usize = 0;
        /// i64, of its last entry
        pub const LAST_ID: usize = 1;
        /// blob, 16 bytes
        pub const ID: usize = 2;
        /// blob, 32 bytes, empty for the first
        pub const PREVIOUS: usize = 3;
        /// blob, 32 bytes
        pub const HASH: usize = 4;
        /// blob, 32 bytes an entry
        pub const LEAVES: usize = 5;
        /// How many columns there are.
        pub const COLUMNS: usize = 6;
    }

    /// Columns of the pages of LedgerListTombstones.
    pub mod tombstone {
        /// text
        pub const NAME: usize = 0;
        /// text
        pub const SANDBOX_ID: usize = 1;
        /// i64, that went, over all deletions
        pub const ENTRIES: usize = 2;
        /// blob, of the last segment, empty when there was none
        pub const HASH: usize = 3;
        /// i64, Unix milliseconds
        pub const DELETED: usize = 4;
        /// How many columns there are.
        pub const COLUMNS: usize = 5;
    }

    /// Columns of the batch of LogAppend.
    pub mod log_event {
        /// text
        pub const RUN: usize = 0;
        /// text
        pub const KIND: usize = 1;
        /// blob
        pub const DATA: usize = 2;
        /// i64, events of the batch that follow it
        pub const BEHIND: usize = 3;
        /// How many columns there are.
        pub const COLUMNS: usize = 4;
    }

    /// Columns of the pages of LogRead.
    pub mod log {
        /// i64, from 1
        pub const OFFSET: usize = 0;
        /// i64, the store's clock, Unix milliseconds
        pub const TS: usize = 1;
        /// text
        pub const KIND: usize = 2;
        /// blob
        pub const DATA: usize = 3;
        /// How many columns there are.
        pub const COLUMNS: usize = 4;
    }

    /// Columns of the pages of InstancesGet and InstancesList.
    pub mod instance {
        /// text
        pub const KEY: usize = 0;
        /// text
        pub const PROVIDER: usize = 1;
        /// text, the provider's
        pub const SANDBOX_ID: usize = 2;
        /// text or null
        pub const SNAPSHOT: usize = 3;
        /// text
        pub const THREAD: usize = 4;
        /// text or null
        pub const RUN: usize = 5;
        /// i64, Unix milliseconds
        pub const UPDATED: usize = 6;
        /// How many columns there are.
        pub const COLUMNS: usize = 7;
    }

    /// Columns of a run, in every page of the runs group.
    pub mod run {
        /// text
        pub const ID: usize = 0;
        /// text
        pub const THREAD: usize = 1;
        /// text
        pub const STATUS: usize = 2;
        /// i64, Unix milliseconds
        pub const STARTED: usize = 3;
        /// i64 or null
        pub const FINISHED: usize = 4;
        /// text or null
        pub const ERROR_MESSAGE: usize = 5;
        /// text or null
        pub const ERROR_CODE: usize = 6;
        /// text or null, JSON
        pub const USAGE: usize = 7;
        /// text or null
        pub const SANDBOX_KEY: usize = 8;
        /// i64 or null
        pub const DETACHED: usize = 9;
        /// i64, 0 or 1, or null
        pub const CANCEL_REQUESTED: usize = 10;
        /// i64 or null
        pub const DRIVER_EPOCH: usize = 11;
        /// How many columns there are.
        pub const COLUMNS: usize = 12;
    }
}

/// What a plugin is. Every method but manifest has a default; an operation that is not written answers
/// `unsupported`. The manifest must declare what the plugin has: see abi/ABI.md, which also says what each
/// operation must do.
pub trait Plugin {
    /// Says what the plugin is, the same every time.
    fn manifest(&self) -> Manifest;

    /// Takes the configuration, a JSON object. Diagnostics in the reply refuse it key by key.
    fn configure(&mut self, _request: ConfigureRequest) -> Result<ConfigureReply, Error> {
        Ok(ConfigureReply::default())
    }

    /// Says in a sentence how the plugin is; an error says that it is not well.
    fn health(&mut self) -> Result<HealthReply, Error> {
        Ok(HealthReply::default())
    }

    /// Releases what the plugin holds outside. No call follows it.
    fn close(&mut self) -> Result<(), Error> {
        Ok(())
    }

    /// `ledger.open`
    fn ledger_open(&mut self, _request: LedgerOpenRequest) -> Result<Head, Error> {
        Err(Error::unsupported("ledger.open"))
    }

    /// `ledger.append`
    fn ledger_append(&mut self, _request: LedgerAppendRequest) -> Result<LedgerAppendReply, Error> {
        Err(Error::unsupported("ledger.append"))
    }

    /// `ledger.read`
    fn ledger_read(&mut self, _request: LedgerReadRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.read"))
    }

    /// `ledger.last_checkpoint`
    fn ledger_last_checkpoint(&mut self, _request: LastCheckpointRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.last_checkpoint"))
    }

    /// `ledger.list_checkpoints`
    fn ledger_list_checkpoints(&mut self, _request: SandboxPageRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.list_checkpoints"))
    }

    /// `ledger.list_sandboxes`
    fn ledger_list_sandboxes(&mut self, _request: ListSandboxesRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.list_sandboxes"))
    }

    /// `ledger.get_sandbox`
    fn ledger_get_sandbox(&mut self, _request: SandboxRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.get_sandbox"))
    }

    /// `ledger.find_sandbox`
    fn ledger_find_sandbox(&mut self, _request: FindSandboxRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.find_sandbox"))
    }

    /// `ledger.delete_sandbox`
    fn ledger_delete_sandbox(&mut self, _request: SandboxRequest) -> Result<DeleteReply, Error> {
        Err(Error::unsupported("ledger.delete_sandbox"))
    }

    /// `ledger.list_heads`
    fn ledger_list_heads(&mut self, _request: PageRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.list_heads"))
    }

    /// `ledger.list_segments`
    fn ledger_list_segments(&mut self, _request: SandboxPageRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.list_segments"))
    }

    /// `ledger.list_tombstones`
    fn ledger_list_tombstones(&mut self, _request: PageRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("ledger.list_tombstones"))
    }

    /// `ledger.usage`
    fn ledger_usage(&mut self, _request: SandboxRequest) -> Result<Usage, Error> {
        Err(Error::unsupported("ledger.usage"))
    }

    /// `ledger.stats`
    fn ledger_stats(&mut self) -> Result<Stats, Error> {
        Err(Error::unsupported("ledger.stats"))
    }

    /// `environment.get`
    fn environment_get(&mut self, _request: EnvironmentRequest) -> Result<Environment, Error> {
        Err(Error::unsupported("environment.get"))
    }

    /// `environment.save`
    fn environment_save(&mut self, _request: Environment) -> Result<(), Error> {
        Err(Error::unsupported("environment.save"))
    }

    /// `environment.delete`
    fn environment_delete(&mut self, _request: EnvironmentRequest) -> Result<(), Error> {
        Err(Error::unsupported("environment.delete"))
    }

    /// `environment.list`
    fn environment_list(&mut self) -> Result<RowsReply, Error> {
        Err(Error::unsupported("environment.list"))
    }

    /// `instances.get`
    fn instances_get(&mut self, _request: KeyRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("instances.get"))
    }

    /// `instances.put`
    fn instances_put(&mut self, _request: Instance) -> Result<(), Error> {
        Err(Error::unsupported("instances.put"))
    }

    /// `instances.delete`
    fn instances_delete(&mut self, _request: KeyRequest) -> Result<(), Error> {
        Err(Error::unsupported("instances.delete"))
    }

    /// `instances.put_if`
    fn instances_put_if(&mut self, _request: InstancePutIf) -> Result<Applied, Error> {
        Err(Error::unsupported("instances.put_if"))
    }

    /// `instances.delete_if`
    fn instances_delete_if(&mut self, _request: InstanceDeleteIf) -> Result<Applied, Error> {
        Err(Error::unsupported("instances.delete_if"))
    }

    /// `instances.list`
    fn instances_list(&mut self, _request: InstanceListRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("instances.list"))
    }

    /// `runs.create_or_get`
    fn runs_create_or_get(&mut self, _request: RunCreate) -> Result<RunReply, Error> {
        Err(Error::unsupported("runs.create_or_get"))
    }

    /// `runs.patch`
    fn runs_patch(&mut self, _request: RunPatch) -> Result<RunReply, Error> {
        Err(Error::unsupported("runs.patch"))
    }

    /// `runs.get`
    fn runs_get(&mut self, _request: KeyRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("runs.get"))
    }

    /// `runs.find_active`
    fn runs_find_active(&mut self, _request: KeyRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("runs.find_active"))
    }

    /// `runs.patch_if`
    fn runs_patch_if(&mut self, _request: RunPatch) -> Result<RunReply, Error> {
        Err(Error::unsupported("runs.patch_if"))
    }

    /// `runs.claim`
    fn runs_claim(&mut self, _request: KeyRequest) -> Result<RunReply, Error> {
        Err(Error::unsupported("runs.claim"))
    }

    /// `runs.list_by_thread`
    fn runs_list_by_thread(&mut self, _request: RunListRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("runs.list_by_thread"))
    }

    /// `runs.list`
    fn runs_list(&mut self, _request: RunListRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("runs.list"))
    }

    /// `runs.list_reclaimable`
    fn runs_list_reclaimable(&mut self, _request: ReclaimRequest) -> Result<RowsReply, Error> {
        Err(Error::unsupported("runs.list_reclaimable"))
    }

    /// `runs.count_by_sandbox`
    fn runs_count_by_sandbox(&mut self, _request: SandboxCountRequest) -> Result<Count, Error> {
        Err(Error::unsupported("runs.count_by_sandbox"))
    }

    /// `runs.secret`
    fn runs_secret(&mut self, _request: KeyRequest) -> Result<RunSecret, Error> {
        Err(Error::unsupported("runs.secret"))
    }

    /// `runs.delete`
    fn runs_delete(&mut self, _request: KeyRequest) -> Result<RunReply, Error> {
        Err(Error::unsupported("runs.delete"))
    }

    /// `log.append`
    fn log_append(&mut self, _request: LogAppendRequest) -> Result<LogTail, Error> {
        Err(Error::unsupported("log.append"))
    }

    /// `log.read`
    fn log_read(&mut self, _request: LogReadRequest) -> Result<LogPage, Error> {
        Err(Error::unsupported("log.read"))
    }

    /// `log.close`
    fn log_close(&mut self, _request: KeyRequest) -> Result<(), Error> {
        Err(Error::unsupported("log.close"))
    }

    /// `log.truncate`
    fn log_truncate(&mut self, _request: KeyRequest) -> Result<DeleteReply, Error> {
        Err(Error::unsupported("log.truncate"))
    }

    /// `locks.try_acquire`
    fn locks_try_acquire(&mut self, _request: LockRequest) -> Result<LockReply, Error> {
        Err(Error::unsupported("locks.try_acquire"))
    }

    /// `locks.renew`
    fn locks_renew(&mut self, _request: LeaseRequest) -> Result<Applied, Error> {
        Err(Error::unsupported("locks.renew"))
    }

    /// `locks.release`
    fn locks_release(&mut self, _request: LeaseRequest) -> Result<Applied, Error> {
        Err(Error::unsupported("locks.release"))
    }

    /// `broker.set`
    fn broker_set(&mut self, _request: BrokerSetRequest) -> Result<(), Error> {
        Err(Error::unsupported("broker.set"))
    }

    /// `broker.patch`
    fn broker_patch(&mut self, _request: BrokerPatchRequest) -> Result<(), Error> {
        Err(Error::unsupported("broker.patch"))
    }

    /// `broker.remove`
    fn broker_remove(&mut self, _request: BrokerRemoveRequest) -> Result<(), Error> {
        Err(Error::unsupported("broker.remove"))
    }

    /// `broker.list_bindings`
    fn broker_list_bindings(&mut self, _request: BrokerListRequest) -> Result<BrokerListReply, Error> {
        Err(Error::unsupported("broker.list_bindings"))
    }

    /// `broker.resolve`
    fn broker_resolve(&mut self, _request: BrokerResolveRequest) -> Result<BrokerResolveReply, Error> {
        Err(Error::unsupported("broker.resolve"))
    }
}

/// Runs one operation and appends its reply.
pub(crate) fn dispatch<P: Plugin>(p: &mut P, op: u32, body: &[u8], out: &mut Vec<u8>) -> Result<(), Error> {
    match op {
        op::DESCRIBE => p.manifest().encode(out),
        op::CONFIGURE => p.configure(ConfigureRequest::decode(body)?)?.encode(out),
        op::CLOSE => p.close()?,
        op::HEALTH => p.health()?.encode(out),
        op::ECHO => out.extend_from_slice(body),
        op::LEDGER_OPEN => p.ledger_open(LedgerOpenRequest::decode(body)?)?.encode(out),
        op::LEDGER_APPEND => p.ledger_append(LedgerAppendRequest::decode(body)?)?.encode(out),
        op::LEDGER_READ => p.ledger_read(LedgerReadRequest::decode(body)?)?.encode(out),
        op::LEDGER_LAST_CHECKPOINT => p.ledger_last_checkpoint(LastCheckpointRequest::decode(body)?)?.encode(out),
        op::LEDGER_LIST_CHECKPOINTS => p.ledger_list_checkpoints(SandboxPageRequest::decode(body)?)?.encode(out),
        op::LEDGER_LIST_SANDBOXES => p.ledger_list_sandboxes(ListSandboxesRequest::decode(body)?)?.encode(out),
        op::LEDGER_GET_SANDBOX => p.ledger_get_sandbox(SandboxRequest::decode(body)?)?.encode(out),
        op::LEDGER_FIND_SANDBOX => p.ledger_find_sandbox(FindSandboxRequest::decode(body)?)?.encode(out),
        op::LEDGER_DELETE_SANDBOX => p.ledger_delete_sandbox(SandboxRequest::decode(body)?)?.encode(out),
        op::LEDGER_LIST_HEADS => p.ledger_list_heads(PageRequest::decode(body)?)?.encode(out),
        op::LEDGER_LIST_SEGMENTS => p.ledger_list_segments(SandboxPageRequest::decode(body)?)?.encode(out),
        op::LEDGER_LIST_TOMBSTONES => p.ledger_list_tombstones(PageRequest::decode(body)?)?.encode(out),
        op::LEDGER_USAGE => p.ledger_usage(SandboxRequest::decode(body)?)?.encode(out),
        op::LEDGER_STATS => p.ledger_stats()?.encode(out),
        op::ENVIRONMENT_GET => p.environment_get(EnvironmentRequest::decode(body)?)?.encode(out),
        op::ENVIRONMENT_SAVE => p.environment_save(Environment::decode(body)?)?,
        op::ENVIRONMENT_DELETE => p.environment_delete(EnvironmentRequest::decode(body)?)?,
        op::ENVIRONMENT_LIST => p.environment_list()?.encode(out),
        op::INSTANCES_GET => p.instances_get(KeyRequest::decode(body)?)?.encode(out),
        op::INSTANCES_PUT => p.instances_put(Instance::decode(body)?)?,
        op::INSTANCES_DELETE => p.instances_delete(KeyRequest::decode(body)?)?,
        op::INSTANCES_PUT_IF => p.instances_put_if(InstancePutIf::decode(body)?)?.encode(out),
        op::INSTANCES_DELETE_IF => p.instances_delete_if(InstanceDeleteIf::decode(body)?)?.encode(out),
        op::INSTANCES_LIST => p.instances_list(InstanceListRequest::decode(body)?)?.encode(out),
        op::RUNS_CREATE_OR_GET => p.runs_create_or_get(RunCreate::decode(body)?)?.encode(out),
        op::RUNS_PATCH => p.runs_patch(RunPatch::decode(body)?)?.encode(out),
        op::RUNS_GET => p.runs_get(KeyRequest::decode(body)?)?.encode(out),
        op::RUNS_FIND_ACTIVE => p.runs_find_active(KeyRequest::decode(body)?)?.encode(out),
        op::RUNS_PATCH_IF => p.runs_patch_if(RunPatch::decode(body)?)?.encode(out),
        op::RUNS_CLAIM => p.runs_claim(KeyRequest::decode(body)?)?.encode(out),
        op::RUNS_LIST_BY_THREAD => p.runs_list_by_thread(RunListRequest::decode(body)?)?.encode(out),
        op::RUNS_LIST => p.runs_list(RunListRequest::decode(body)?)?.encode(out),
        op::RUNS_LIST_RECLAIMABLE => p.runs_list_reclaimable(ReclaimRequest::decode(body)?)?.encode(out),
        op::RUNS_COUNT_BY_SANDBOX => p.runs_count_by_sandbox(SandboxCountRequest::decode(body)?)?.encode(out),
        op::RUNS_SECRET => p.runs_secret(KeyRequest::decode(body)?)?.encode(out),
        op::RUNS_DELETE => p.runs_delete(KeyRequest::decode(body)?)?.encode(out),
        op::LOG_APPEND => p.log_append(LogAppendRequest::decode(body)?)?.encode(out),
        op::LOG_READ => p.log_read(LogReadRequest::decode(body)?)?.encode(out),
        op::LOG_CLOSE => p.log_close(KeyRequest::decode(body)?)?,
        op::LOG_TRUNCATE => p.log_truncate(KeyRequest::decode(body)?)?.encode(out),
        op::LOCKS_TRY_ACQUIRE => p.locks_try_acquire(LockRequest::decode(body)?)?.encode(out),
        op::LOCKS_RENEW => p.locks_renew(LeaseRequest::decode(body)?)?.encode(out),
        op::LOCKS_RELEASE => p.locks_release(LeaseRequest::decode(body)?)?.encode(out),
        op::BROKER_SET => p.broker_set(BrokerSetRequest::decode(body)?)?,
        op::BROKER_PATCH => p.broker_patch(BrokerPatchRequest::decode(body)?)?,
        op::BROKER_REMOVE => p.broker_remove(BrokerRemoveRequest::decode(body)?)?,
        op::BROKER_LIST_BINDINGS => p.broker_list_bindings(BrokerListRequest::decode(body)?)?.encode(out),
        op::BROKER_RESOLVE => p.broker_resolve(BrokerResolveRequest::decode(body)?)?.encode(out),
        _ => return Err(Error::unsupported("this operation")),
    }
    Ok(())
}
