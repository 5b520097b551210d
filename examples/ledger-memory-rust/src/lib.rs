//! A ledger, and the stores of durable runs, that live in the plugin's memory and are gone with it.

mod append;
mod environments;
mod list;
mod read;
mod runs;
mod store;

use alineo::*;
use store::Store;

/// Larger entries are refused, so that one can't take all of the plugin's memory.
const MAX_ENTRY: usize = 8 << 20;

#[derive(Default)]
struct Memory {
    store: Store,
    runs: runs::Runs,
}

alineo::plugin!(Memory, Memory::default);

/// The optional operations that it has: all of them.
const OPTIONAL: &[&str] = &[
    "ledger.list_heads",
    "ledger.list_segments",
    "ledger.list_tombstones",
    "ledger.usage",
    "ledger.stats",
    "instances.put_if",
    "instances.delete_if",
    "instances.list",
    "runs.patch_if",
    "runs.claim",
    "runs.list_by_thread",
    "runs.list",
    "runs.list_reclaimable",
    "runs.count_by_sandbox",
    "runs.secret",
    "runs.delete",
    "log.truncate",
];

impl Plugin for Memory {
    fn manifest(&self) -> Manifest {
        Manifest {
            name: "ledger-memory-rust".into(),
            version: "1.0.0".into(),
            kinds: ["ledger", "instances", "runs", "log", "locks"].map(String::from).to_vec(),
            optional: OPTIONAL.iter().map(|name| name.to_string()).collect(),
            state: guest_state::VOLATILE,
            ..Manifest::default()
        }
    }

    fn health(&mut self) -> Result<HealthReply, Error> {
        Ok(HealthReply { message: format!("{} entries in memory", self.store.entries.len()) })
    }

    fn ledger_open(&mut self, request: LedgerOpenRequest) -> Result<Head, Error> {
        append::open(&mut self.store, request.key)
    }

    fn ledger_append(&mut self, request: LedgerAppendRequest) -> Result<LedgerAppendReply, Error> {
        append::append(&mut self.store, host::rows(request.segments)?, host::rows(request.entries)?)
    }

    fn ledger_read(&mut self, request: LedgerReadRequest) -> Result<RowsReply, Error> {
        read::read(&self.store, request)
    }

    fn ledger_last_checkpoint(&mut self, request: LastCheckpointRequest) -> Result<RowsReply, Error> {
        read::last_checkpoint(&self.store, request)
    }

    fn ledger_list_checkpoints(&mut self, request: SandboxPageRequest) -> Result<RowsReply, Error> {
        read::list_checkpoints(&self.store, request)
    }

    fn ledger_list_sandboxes(&mut self, request: ListSandboxesRequest) -> Result<RowsReply, Error> {
        list::list_sandboxes(&self.store, request)
    }

    fn ledger_get_sandbox(&mut self, request: SandboxRequest) -> Result<RowsReply, Error> {
        list::get_sandbox(&self.store, request.key)
    }

    fn ledger_find_sandbox(&mut self, request: FindSandboxRequest) -> Result<RowsReply, Error> {
        list::find_sandbox(&self.store, &request.sandbox_id)
    }

    fn ledger_delete_sandbox(&mut self, request: SandboxRequest) -> Result<DeleteReply, Error> {
        append::delete(&mut self.store, request.key)
    }

    fn ledger_list_heads(&mut self, request: PageRequest) -> Result<RowsReply, Error> {
        list::list_heads(&self.store, request)
    }

    fn ledger_list_segments(&mut self, request: SandboxPageRequest) -> Result<RowsReply, Error> {
        list::list_segments(&self.store, request)
    }

    fn ledger_list_tombstones(&mut self, request: PageRequest) -> Result<RowsReply, Error> {
        list::list_tombstones(&self.store, request)
    }

    fn ledger_usage(&mut self, request: SandboxRequest) -> Result<Usage, Error> {
        list::usage(&self.store, request.key)
    }

    fn ledger_stats(&mut self) -> Result<Stats, Error> {
        Ok(Stats { entries: self.store.entries.len() as i64, storage_bytes: -1, schema_version: 0 })
    }

    fn environment_get(&mut self, request: EnvironmentRequest) -> Result<Environment, Error> {
        environments::get(&self.store, &request.name)
    }

    fn environment_save(&mut self, request: Environment) -> Result<(), Error> {
        environments::save(&mut self.store, request)
    }

    fn environment_delete(&mut self, request: EnvironmentRequest) -> Result<(), Error> {
        environments::delete(&mut self.store, &request.name)
    }

    fn environment_list(&mut self) -> Result<RowsReply, Error> {
        environments::list(&self.store)
    }

    fn instances_get(&mut self, request: KeyRequest) -> Result<RowsReply, Error> {
        Ok(self.runs.instance(&request.key))
    }

    fn instances_put(&mut self, request: Instance) -> Result<(), Error> {
        self.runs.put_instance(request);
        Ok(())
    }

    fn instances_delete(&mut self, request: KeyRequest) -> Result<(), Error> {
        self.runs.delete_instance(&request.key);
        Ok(())
    }

    fn instances_put_if(&mut self, request: InstancePutIf) -> Result<Applied, Error> {
        Ok(self.runs.put_instance_if(request))
    }

    fn instances_delete_if(&mut self, request: InstanceDeleteIf) -> Result<Applied, Error> {
        Ok(self.runs.delete_instance_if(request))
    }

    fn instances_list(&mut self, request: InstanceListRequest) -> Result<RowsReply, Error> {
        self.runs.list_instances(request)
    }

    fn runs_create_or_get(&mut self, request: RunCreate) -> Result<RunReply, Error> {
        Ok(self.runs.create_run(request))
    }

    fn runs_patch(&mut self, request: RunPatch) -> Result<RunReply, Error> {
        self.runs.patch_run(request)
    }

    fn runs_get(&mut self, request: KeyRequest) -> Result<RowsReply, Error> {
        Ok(self.runs.run(&request.key))
    }

    fn runs_find_active(&mut self, request: KeyRequest) -> Result<RowsReply, Error> {
        Ok(self.runs.active_run(&request.key))
    }

    fn runs_patch_if(&mut self, request: RunPatch) -> Result<RunReply, Error> {
        self.runs.patch_run_if(request)
    }

    fn runs_claim(&mut self, request: KeyRequest) -> Result<RunReply, Error> {
        Ok(self.runs.claim_run(&request.key))
    }

    fn runs_list_by_thread(&mut self, request: RunListRequest) -> Result<RowsReply, Error> {
        self.runs.list_runs(request, false)
    }

    fn runs_list(&mut self, request: RunListRequest) -> Result<RowsReply, Error> {
        self.runs.list_runs(request, true)
    }

    fn runs_list_reclaimable(&mut self, request: ReclaimRequest) -> Result<RowsReply, Error> {
        self.runs.list_reclaimable(request)
    }

    fn runs_count_by_sandbox(&mut self, request: SandboxCountRequest) -> Result<Count, Error> {
        Ok(self.runs.count_by_sandbox(request))
    }

    fn runs_secret(&mut self, request: KeyRequest) -> Result<RunSecret, Error> {
        Ok(self.runs.secret(&request.key))
    }

    fn runs_delete(&mut self, request: KeyRequest) -> Result<RunReply, Error> {
        Ok(self.runs.delete_run(&request.key))
    }

    fn log_append(&mut self, request: LogAppendRequest) -> Result<LogTail, Error> {
        let events = if request.events == 0 { Vec::new() } else { host::rows(request.events)? };
        self.runs.append_log(request, events)
    }

    fn log_read(&mut self, request: LogReadRequest) -> Result<LogPage, Error> {
        Ok(self.runs.read_log(request))
    }

    fn log_close(&mut self, request: KeyRequest) -> Result<(), Error> {
        self.runs.close_log(request.key);
        Ok(())
    }

    fn log_truncate(&mut self, request: KeyRequest) -> Result<DeleteReply, Error> {
        Ok(self.runs.truncate_log(&request.key))
    }

    fn locks_try_acquire(&mut self, request: LockRequest) -> Result<LockReply, Error> {
        Ok(self.runs.acquire(request))
    }

    fn locks_renew(&mut self, request: LeaseRequest) -> Result<Applied, Error> {
        Ok(self.runs.renew(request))
    }

    fn locks_release(&mut self, request: LeaseRequest) -> Result<Applied, Error> {
        Ok(self.runs.release(request))
    }
}
