//! A ledger that lives in the plugin's memory and is gone with it.

mod append;
mod environments;
mod list;
mod read;
mod store;

use alineo::*;
use store::Store;

/// Larger entries are refused, so that one can't take all of the plugin's memory.
const MAX_ENTRY: usize = 8 << 20;

struct Memory {
    store: Store,
}

alineo::plugin!(Memory, || Memory { store: Store::default() });

impl Plugin for Memory {
    fn manifest(&self) -> Manifest {
        let optional =
            ["ledger.list_heads", "ledger.list_segments", "ledger.list_tombstones", "ledger.usage", "ledger.stats"];
        Manifest {
            name: "ledger-memory-rust".into(),
            version: "1.0.0".into(),
            kinds: vec!["ledger".into()],
            optional: optional.map(String::from).to_vec(),
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
}
