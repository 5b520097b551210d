// A ledger that forwards everything to a service over HTTP.

import * as a from "../../sdk/assemblyscript/assembly";

export { alineo_abi_v1, alineo_buffer, alineo_call } from "../../sdk/assemblyscript/assembly/guest";

/** How often a request is sent again when the service does not answer, and the first pause in milliseconds. */
const ATTEMPTS = 4;
const FIRST_PAUSE: i64 = 50;

/** The most that a reply may have: what the host allows. A page has half of it at most, and one entry that is larger. */
const MAX_REPLY: u64 = 8 << 20;

class Forwarder extends a.Plugin {
  private url: string = "";

  manifest(): a.Manifest {
    const m = new a.Manifest(), web = new a.Want();
    m.name = "ledger-http-as";
    m.version = "1.0.0";
    m.kinds = ["ledger"];
    m.configSchema = `{"type":"object","required":["url"],"additionalProperties":false,"properties":{"url":{"type":"string"}}}`;
    web.name = "http";
    web.reason = "forwards the ledger to the service at url";
    m.capabilities = [web];
    return m;
  }

  configure(request: a.ConfigureRequest): a.ConfigureReply | null {
    const reply = new a.ConfigureReply();
    const url = a.stringField(a.utf8(request.config), "url");
    if (url === null || !(url.startsWith("http://") || url.startsWith("https://"))) {
      const d = new a.Diagnostic();
      d.key = "url";
      d.message = "the service's address is missing, such as https://ledger.internal:8443";
      reply.diagnostics = [d];
    } else {
      this.url = url.endsWith("/") ? url : url + "/";
    }
    return reply;
  }

  health(): a.HealthReply | null {
    const reply = new a.HealthReply();
    return this.forward("health", new a.Empty(), null, reply) ? reply : null;
  }

  ledgerOpen(request: a.LedgerOpenRequest): a.Head | null {
    const reply = new a.Head();
    return this.forward("ledger.open", request, null, reply) ? reply : null;
  }

  /** Segments have ids, so the service knows one that it was sent before: a batch can be sent again. */
  ledgerAppend(request: a.LedgerAppendRequest): a.LedgerAppendReply | null {
    const tables = new a.Writer();
    if (!copyRows(request.segments, a.SegmentColumn.COLUMNS, tables) || !copyRows(request.entries, a.EntryColumn.COLUMNS, tables)) return null;
    const reply = new a.LedgerAppendReply();
    return this.forward("ledger.append", request, tables.finish(), reply) ? reply : null;
  }

  ledgerRead(request: a.LedgerReadRequest): a.RowsReply | null { return this.rows("ledger.read", request); }
  ledgerLastCheckpoint(request: a.LastCheckpointRequest): a.RowsReply | null { return this.rows("ledger.last_checkpoint", request); }
  ledgerListCheckpoints(request: a.SandboxPageRequest): a.RowsReply | null { return this.rows("ledger.list_checkpoints", request); }
  ledgerListSandboxes(request: a.ListSandboxesRequest): a.RowsReply | null { return this.rows("ledger.list_sandboxes", request); }
  ledgerGetSandbox(request: a.SandboxRequest): a.RowsReply | null { return this.rows("ledger.get_sandbox", request); }
  ledgerFindSandbox(request: a.FindSandboxRequest): a.RowsReply | null { return this.rows("ledger.find_sandbox", request); }

  ledgerDeleteSandbox(request: a.SandboxRequest): a.DeleteReply | null {
    const reply = new a.DeleteReply();
    return this.forward("ledger.delete_sandbox", request, null, reply) ? reply : null;
  }

  environmentGet(request: a.EnvironmentRequest): a.Environment | null {
    const reply = new a.Environment();
    return this.forward("environment.get", request, null, reply) ? reply : null;
  }

  environmentSave(request: a.Environment): a.Empty | null {
    const reply = new a.Empty();
    return this.forward("environment.save", request, null, reply) ? reply : null;
  }

  environmentDelete(request: a.EnvironmentRequest): a.Empty | null {
    const reply = new a.Empty();
    return this.forward("environment.delete", request, null, reply) ? reply : null;
  }

  environmentList(): a.RowsReply | null { return this.rows("environment.list", new a.Empty()); }

  private rows(operation: string, request: a.Message): a.RowsReply | null {
    const reply = new a.RowsReply();
    return this.forward(operation, request, null, reply) ? reply : null;
  }

  /** Sends an operation's request, with tables behind it, and reads the reply. */
  private forward(operation: string, message: a.Message, tables: Uint8Array | null, reply: a.Message): bool {
    const body = new a.Writer(), bytes = message.toBytes();
    body.u32(bytes.length);
    body.raw(bytes);
    if (tables !== null) body.raw(tables);
    const request = new a.HTTPRequest(), part = new a.HTTPPart();
    request.method = "POST";
    request.url = this.url + operation;
    part.literal = body.finish();
    request.body = [part];
    request.maxBytes = MAX_REPLY;
    let answer: a.HTTPReply | null = null;
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      if (attempt > 0) a.sleep(FIRST_PAUSE << (attempt - 1));
      answer = a.http(request);
      if (answer !== null && answer.status != 502 && answer.status != 503 && answer.status != 504) break;
    }
    if (answer === null) return false; // with the host's error: nobody answered
    return this.read(operation, answer, reply);
  }

  private read(operation: string, answer: a.HTTPReply, reply: a.Message): bool {
    let why: string;
    if (answer.status == 200) {
      why = reply.decode(answer.body);
      if (why.length == 0) return true;
      // The service did it, and what it says of it is lost.
      a.fail(a.Code.UNKNOWN_OUTCOME, "the service's reply to " + operation + ": " + why);
      return false;
    }
    const error = new a.Error();
    why = error.decode(answer.body);
    if (answer.status >= 400 && answer.status < 500 && why.length == 0 && error.code != a.Code.OK) {
      a.pass(error);
    } else {
      a.fail(a.Code.UNAVAILABLE, "the service answers " + operation + " with status " + answer.status.toString());
    }
    return false;
  }
}

/** Writes the rows behind a handle as a table with its length before it. */
function copyRows(handle: u64, columns: i32, out: a.Writer): bool {
  const rows = a.rows(handle);
  if (rows === null) return false;
  const table = new a.TableWriter(columns);
  for (let i = 0; i < rows.length; i++) table.row(rows[i].slice(0, columns));
  const bytes = table.finish();
  out.u32(bytes.length);
  out.raw(bytes);
  return true;
}

a.serve(new Forwarder());
