// A credential broker whose values are secrets that the operator granted: static:NAME leads to NAME.

import * as a from "../../../../../sdk/assemblyscript/assembly";

export { alineo_abi_v1, alineo_buffer, alineo_call } from "../../../../../sdk/assemblyscript/assembly/guest";

const PREFIX = "static:";

class Static extends a.Plugin {
  private vault: a.Vault = new a.Vault(); // puts credentials where the sandbox's requests leave

  manifest(): a.Manifest {
    const m = new a.Manifest(), secret = new a.Want();
    m.name = "broker-static";
    m.version = "1.0.0";
    m.kinds = ["broker"];
    m.optional = ["broker.resolve"];
    secret.name = "secret";
    secret.reason = "gives them to sandboxes as credentials";
    secret.optional = true;
    m.capabilities = [secret];
    return m;
  }

  brokerSet(request: a.BrokerSetRequest): a.Empty | null { return this.vault.set(request); }
  brokerPatch(request: a.BrokerPatchRequest): a.Empty | null { return this.vault.patch(request); }
  brokerRemove(request: a.BrokerRemoveRequest): a.Empty | null { return this.vault.remove(request); }
  brokerListBindings(request: a.BrokerListRequest): a.BrokerListReply | null { return this.vault.list(request); }

  brokerResolve(request: a.BrokerResolveRequest): a.BrokerResolveReply | null {
    if (!request.source.ref.startsWith(PREFIX)) {
      a.fail(a.Code.NOT_FOUND, "this broker knows references of the form static:NAME");
      return null;
    }
    const value = a.grantedSecret(request.source.ref.substring(PREFIX.length)); // read anew each time, so that it can be rotated
    if (value === null) return null;
    const reply = new a.BrokerResolveReply();
    reply.value = value.handle;
    return reply;
  }
}

a.serve(new Static());
