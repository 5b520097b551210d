// Mistakes that a plugin in AssemblyScript can make: the name of a sandbox says which.

import * as a from "../../../../../sdk/assemblyscript/assembly";

export { alineo_abi_v1, alineo_buffer, alineo_call } from "../../../../../sdk/assemblyscript/assembly/guest";

class Hazard extends a.Plugin {
  private calls: u64 = 0;

  manifest(): a.Manifest {
    const m = new a.Manifest();
    m.name = "hazard";
    m.version = "1.0.0";
    m.kinds = ["ledger"];
    return m;
  }

  ledgerOpen(request: a.LedgerOpenRequest): a.Head | null {
    const name = request.key.name, list: u64[] = [1, 2, 3], nothing = this.nothing(name);
    if (name == "throw") throw new Error("a mistake");
    if (name == "assert") assert(nothing !== null, "a mistake");
    if (name == "null") this.calls = nothing!.epoch;
    if (name == "index") this.calls = list[list.length];
    if (name == "stack") this.calls = this.deep(1);
    if (name == "memory") {
      const all: Uint8Array[] = [];
      while (true) all.push(new Uint8Array(1 << 16));
    }
    if (name == "loop") while (true) this.calls++;
    const head = new a.Head();
    head.epoch = ++this.calls;
    head.lastStep = -1;
    return head;
  }

  private nothing(name: string): a.Head | null { return name == "" ? new a.Head() : null; }

  private deep(n: u64): u64 { return this.deep(n + 1) + this.calls + n; }
}

a.serve(new Hazard());
