// A ledger that lives in the plugin's memory and is gone with it.

import * as a from "../../sdk/assemblyscript/assembly";
import { append, open, remove } from "./append";
import { find, list } from "./list";
import { checkpoints, lastCheckpoint, read } from "./read";
import { Store } from "./store";

export { alineo_abi_v1, alineo_buffer, alineo_call } from "../../sdk/assemblyscript/assembly/guest";

class Memory extends a.Plugin {
  private store: Store = new Store();

  manifest(): a.Manifest {
    const m = new a.Manifest();
    m.name = "ledger-memory-as";
    m.version = "1.0.0";
    m.kinds = ["ledger"];
    m.state = a.GuestState.VOLATILE; // kept in memory: one instance, and a crash loses it
    return m;
  }

  health(): a.HealthReply | null {
    const reply = new a.HealthReply();
    reply.message = this.store.entries.length.toString() + " entries in memory";
    return reply;
  }

  ledgerOpen(request: a.LedgerOpenRequest): a.Head | null { return open(this.store, request.key); }

  ledgerAppend(request: a.LedgerAppendRequest): a.LedgerAppendReply | null {
    const segments = a.rows(request.segments);
    if (segments === null) return null;
    const entries = a.rows(request.entries);
    if (entries === null) return null;
    return append(this.store, segments, entries);
  }

  ledgerRead(request: a.LedgerReadRequest): a.RowsReply | null { return read(this.store, request); }
  ledgerLastCheckpoint(request: a.LastCheckpointRequest): a.RowsReply | null { return lastCheckpoint(this.store, request); }
  ledgerListCheckpoints(request: a.SandboxPageRequest): a.RowsReply | null { return checkpoints(this.store, request); }
  ledgerListSandboxes(request: a.ListSandboxesRequest): a.RowsReply | null { return list(this.store, request); }
  ledgerGetSandbox(request: a.SandboxRequest): a.RowsReply | null { return find(this.store, request.key.sandboxId, request.key); }
  ledgerFindSandbox(request: a.FindSandboxRequest): a.RowsReply | null { return find(this.store, request.sandboxId, null); }
  ledgerDeleteSandbox(request: a.SandboxRequest): a.DeleteReply | null { return remove(this.store, request.key); }

  environmentGet(request: a.EnvironmentRequest): a.Environment | null {
    if (this.store.environments.has(request.name)) return this.store.environments.get(request.name);
    a.fail(a.Code.NOT_FOUND, "there is no environment of this name");
    return null;
  }

  environmentSave(request: a.Environment): a.Empty | null {
    this.store.environments.set(request.name, request);
    return new a.Empty();
  }

  environmentDelete(request: a.EnvironmentRequest): a.Empty | null {
    this.store.environments.delete(request.name);
    return new a.Empty();
  }

  environmentList(): a.RowsReply | null {
    const list = this.store.environments.values(), page = new a.TableWriter(a.EnvironmentColumn.COLUMNS);
    list.sort((x, y) => x.builtAt == y.builtAt ? 0 : x.builtAt < y.builtAt ? 1 : -1); // newest first
    for (let i = 0; i < list.length; i++) {
      const e = list[i];
      page.row([a.Value.text(e.name), a.Value.text(e.snapshotId), a.Value.text(e.image), a.Value.i64(e.builtAt)]);
    }
    const reply = new a.RowsReply();
    reply.table = page.finish();
    return reply;
  }
}

a.serve(new Memory());
