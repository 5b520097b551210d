// Written by internal/sdkgen from abi/. Do not edit.

import { Message, Reader, Writer } from "./wire";
import { Value } from "./table";

/** What went wrong. Zero is not a failure. */
export namespace Code {
  export const OK: u32 = 0;
  /** the request is wrong; the same request fails again */
  export const INVALID: u32 = 1;
  /** what the request names does not exist */
  export const NOT_FOUND: u32 = 2;
  /** what is there is not what the request expected */
  export const CONFLICT: u32 = 3;
  /** not granted, or refused by the other side */
  export const DENIED: u32 = 4;
  /** the operation is unknown to the receiver */
  export const UNSUPPORTED: u32 = 5;
  /** nothing was done; the same request may succeed later */
  export const UNAVAILABLE: u32 = 6;
  /** it may or may not have been done */
  export const UNKNOWN_OUTCOME: u32 = 7;
  /** a limit was reached */
  export const RESOURCE_EXHAUSTED: u32 = 8;
  /** time ran out and nothing was done */
  export const DEADLINE: u32 = 9;
  /** a fault of the receiver */
  export const INTERNAL: u32 = 10;
}

/** What a guest keeps between calls. */
export namespace GuestState {
  /** nothing: instances are pooled, replaced and reloaded freely */
  export const NONE: u32 = 0;
  /** lost by a trap: the plugin is then failed, never silently reborn */
  export const VOLATILE: u32 = 1;
  /** owns something outside: one instance at a time */
  export const EXCLUSIVE: u32 = 2;
}

/** Where a parameter's value comes from. */
export namespace ParamKind {
  export const LITERAL: u32 = 0;
  /** a column of the step's batch */
  export const COLUMN: u32 = 1;
  /** the first row of an earlier step's result */
  export const RESULT: u32 = 2;
}

/** How a secret is written. */
export namespace PartEncoding {
  /** as it is */
  export const RAW: u32 = 0;
  /** escaped for the inside of a JSON string, without the quotes */
  export const JSON: u32 = 1;
  /** standard base64 with padding */
  export const BASE64: u32 = 2;
  /** percent-encoded */
  export const URL: u32 = 3;
}

export namespace RunOutcome {
  /** it is there, and was left as it is */
  export const UNCHANGED: u32 = 0;
  /** it was made, patched, claimed or deleted */
  export const CHANGED: u32 = 1;
  /** there is no such run */
  export const UNKNOWN: u32 = 2;
}

/** Where the rows of a step go. */
export namespace SQLResult {
  export const NONE: u32 = 0;
  /** the reply carries them as a table */
  export const INLINE: u32 = 1;
  /** they stay on the host as a rows handle */
  export const HANDLE: u32 = 2;
}

/** Reply of conditional operations. */
export class Applied extends Message {
  applied: bool = false;

  encode(w: Writer): void {
    if (this.applied) w.varint(1, <u64>this.applied);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.applied = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** One header of the form customHeaders. */
export class AuthHeader extends Message {
  name: string = "";
  /** whose value it has; empty: the one that is bound */
  credential: string = "";

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.credential.length > 0) w.text(2, this.credential);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.credential = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of batch.cell. */
export class BatchBytes extends Message {
  data: Uint8Array = new Uint8Array(0);
  /** length of the whole cell */
  total: u64 = 0;

  encode(w: Writer): void {
    if (this.data.length > 0) w.bytes(1, this.data);
    if (this.total != 0) w.varint(2, <u64>this.total);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.data = r.bytes(); return r.ok; }
    if (number == 2 && wire == 0) { this.total = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of batch.cell: a range of one text, json or blob cell. */
export class BatchCell extends Message {
  handle: u64 = 0;
  row: u64 = 0;
  column: u64 = 0;
  offset: u64 = 0;
  length: u64 = 0;

  encode(w: Writer): void {
    if (this.handle != 0) w.varint(1, <u64>this.handle);
    if (this.row != 0) w.varint(2, <u64>this.row);
    if (this.column != 0) w.varint(3, <u64>this.column);
    if (this.offset != 0) w.varint(4, <u64>this.offset);
    if (this.length != 0) w.varint(5, <u64>this.length);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.handle = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.row = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.column = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.offset = r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.length = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of batch.read: rows of a handle as a table. */
export class BatchRead extends Message {
  handle: u64 = 0;
  first: u64 = 0;
  /** 0: no bound but the host's */
  maxRows: u64 = 0;
  /** 0: the host's */
  maxBytes: u64 = 0;

  encode(w: Writer): void {
    if (this.handle != 0) w.varint(1, <u64>this.handle);
    if (this.first != 0) w.varint(2, <u64>this.first);
    if (this.maxRows != 0) w.varint(3, <u64>this.maxRows);
    if (this.maxBytes != 0) w.varint(4, <u64>this.maxBytes);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.handle = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.first = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.maxRows = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of batch.read. */
export class BatchRows extends Message {
  table: Uint8Array = new Uint8Array(0);
  /** first row not in the table */
  next: u64 = 0;
  /** row<<8 | column of each cell that was cut to null */
  cut: Array<u64> = [];

  encode(w: Writer): void {
    if (this.table.length > 0) w.bytes(1, this.table);
    if (this.next != 0) w.varint(2, <u64>this.next);
    w.packed(3, this.cut);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.table = r.bytes(); return r.ok; }
    if (number == 2 && wire == 0) { this.next = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) return r.push<u64>(this.cut, r.varint());
    if (number == 3 && wire == 2) return r.packed(this.cut);
    return r.skip(wire);
  }
}

/** Which requests of a sandbox get a credential, and how. */
export class Binding extends Message {
  /** empty: https */
  schemes: Array<string> = [];
  /** empty: 443 */
  ports: Array<u64> = [];
  /** names or *.names; at least one */
  hosts: Array<string> = [];
  /** empty: GET, POST, PUT, PATCH, DELETE */
  methods: Array<string> = [];
  /** begin with /, a * at the end matches what follows; empty: all */
  paths: Array<string> = [];
  /** bearer, basic, apiKey, customHeaders or passthrough */
  auth: string = "";
  /** apiKey */
  header: string = "";
  /** customHeaders */
  headers: Array<AuthHeader> = [];
  /** passthrough */
  substitutions: Array<Substitution> = [];

  encode(w: Writer): void {
    for (let i = 0; i < this.schemes.length; i++) w.text(1, this.schemes[i]);
    w.packed(2, this.ports);
    for (let i = 0; i < this.hosts.length; i++) w.text(3, this.hosts[i]);
    for (let i = 0; i < this.methods.length; i++) w.text(4, this.methods[i]);
    for (let i = 0; i < this.paths.length; i++) w.text(5, this.paths[i]);
    if (this.auth.length > 0) w.text(6, this.auth);
    if (this.header.length > 0) w.text(7, this.header);
    for (let i = 0; i < this.headers.length; i++) w.message(8, this.headers[i]);
    for (let i = 0; i < this.substitutions.length; i++) w.message(9, this.substitutions[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) return r.push<string>(this.schemes, r.text());
    if (number == 2 && wire == 0) return r.push<u64>(this.ports, r.varint());
    if (number == 2 && wire == 2) return r.packed(this.ports);
    if (number == 3 && wire == 2) return r.push<string>(this.hosts, r.text());
    if (number == 4 && wire == 2) return r.push<string>(this.methods, r.text());
    if (number == 5 && wire == 2) return r.push<string>(this.paths, r.text());
    if (number == 6 && wire == 2) { this.auth = r.text(); return r.ok; }
    if (number == 7 && wire == 2) { this.header = r.text(); return r.ok; }
    if (number == 8 && wire == 2) {
      const element = new AuthHeader();
      return r.message(element) && r.push<AuthHeader>(this.headers, element);
    }
    if (number == 9 && wire == 2) {
      const element = new Substitution();
      return r.message(element) && r.push<Substitution>(this.substitutions, element);
    }
    return r.skip(wire);
  }
}

/** Reply of broker.list_bindings. */
export class BrokerListReply extends Message {
  bindings: Array<NamedBinding> = [];

  encode(w: Writer): void {
    for (let i = 0; i < this.bindings.length; i++) w.message(1, this.bindings[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) {
      const element = new NamedBinding();
      return r.message(element) && r.push<NamedBinding>(this.bindings, element);
    }
    return r.skip(wire);
  }
}

/** Request of broker.list_bindings. */
export class BrokerListRequest extends Message {
  sandboxId: string = "";
  /** endpoint handle */
  egress: u64 = 0;

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
    if (this.egress != 0) w.varint(2, <u64>this.egress);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.egress = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of broker.patch. */
export class BrokerPatchRequest extends Message {
  sandboxId: string = "";
  name: string = "";
  /** endpoint handle */
  egress: u64 = 0;
  /** secret handle; 0: stays */
  value: u64 = 0;
  /** without hosts: stays */
  binding: Binding = new Binding();

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
    if (this.name.length > 0) w.text(2, this.name);
    if (this.egress != 0) w.varint(3, <u64>this.egress);
    if (this.value != 0) w.varint(4, <u64>this.value);
    w.messageUnlessEmpty(5, this.binding);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.egress = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.value = r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { return r.message(this.binding); }
    return r.skip(wire);
  }
}

/** Request of broker.remove. */
export class BrokerRemoveRequest extends Message {
  sandboxId: string = "";
  name: string = "";
  /** endpoint handle */
  egress: u64 = 0;

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
    if (this.name.length > 0) w.text(2, this.name);
    if (this.egress != 0) w.varint(3, <u64>this.egress);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.egress = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of broker.resolve. */
export class BrokerResolveReply extends Message {
  /** secret handle */
  value: u64 = 0;
  /** not to be used longer than that; 0: nothing is said */
  expiresMs: u64 = 0;

  encode(w: Writer): void {
    if (this.value != 0) w.varint(1, <u64>this.value);
    if (this.expiresMs != 0) w.varint(2, <u64>this.expiresMs);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.value = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.expiresMs = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of broker.resolve. */
export class BrokerResolveRequest extends Message {
  /** empty: before there is one */
  sandboxId: string = "";
  name: string = "";
  source: Source = new Source();

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
    if (this.name.length > 0) w.text(2, this.name);
    w.messageUnlessEmpty(3, this.source);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { return r.message(this.source); }
    return r.skip(wire);
  }
}

/** Request of broker.set. */
export class BrokerSetRequest extends Message {
  sandboxId: string = "";
  name: string = "";
  /** endpoint handle */
  egress: u64 = 0;
  /** secret handle */
  value: u64 = 0;
  binding: Binding = new Binding();

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
    if (this.name.length > 0) w.text(2, this.name);
    if (this.egress != 0) w.varint(3, <u64>this.egress);
    if (this.value != 0) w.varint(4, <u64>this.value);
    w.messageUnlessEmpty(5, this.binding);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.egress = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.value = r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { return r.message(this.binding); }
    return r.skip(wire);
  }
}

/** Reply of configure. Diagnostics refuse the configuration. */
export class ConfigureReply extends Message {
  diagnostics: Array<Diagnostic> = [];

  encode(w: Writer): void {
    for (let i = 0; i < this.diagnostics.length; i++) w.message(1, this.diagnostics[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) {
      const element = new Diagnostic();
      return r.message(element) && r.push<Diagnostic>(this.diagnostics, element);
    }
    return r.skip(wire);
  }
}

/** Request of configure. */
export class ConfigureRequest extends Message {
  /** [plugins.NAME.config] as a JSON object */
  config: string = "";
  hostVersion: string = "";
  /** abilities of the host beyond the first form of version 1 */
  features: Array<string> = [];

  encode(w: Writer): void {
    if (this.config.length > 0) w.text(1, this.config);
    if (this.hostVersion.length > 0) w.text(2, this.hostVersion);
    for (let i = 0; i < this.features.length; i++) w.text(3, this.features[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.config = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.hostVersion = r.text(); return r.ok; }
    if (number == 3 && wire == 2) return r.push<string>(this.features, r.text());
    return r.skip(wire);
  }
}

/** Reply of runs.count_by_sandbox. */
export class Count extends Message {
  count: u64 = 0;

  encode(w: Writer): void {
    if (this.count != 0) w.varint(1, <u64>this.count);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.count = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of ledger.delete_sandbox. */
export class DeleteReply extends Message {
  /** entries that this call removed */
  rows: u64 = 0;
  /** the deletion has not ended: ask again */
  more: bool = false;

  encode(w: Writer): void {
    if (this.rows != 0) w.varint(1, <u64>this.rows);
    if (this.more) w.varint(2, <u64>this.more);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.rows = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.more = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** One complaint about a configuration key. */
export class Diagnostic extends Message {
  /** dotted path below [plugins.NAME.config] */
  key: string = "";
  message: string = "";

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
    if (this.message.length > 0) w.text(2, this.message);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.message = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** The message without fields. */
export class Empty extends Message {
  encode(w: Writer): void {
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    return r.skip(wire);
  }
}

/** Reply of environment.get and request of environment.save. */
export class Environment extends Message {
  name: string = "";
  snapshotId: string = "";
  image: string = "";
  /** Unix milliseconds */
  builtAt: i64 = 0;

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.snapshotId.length > 0) w.text(2, this.snapshotId);
    if (this.image.length > 0) w.text(3, this.image);
    if (this.builtAt != 0) w.varint(4, <u64>this.builtAt);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.snapshotId = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.image = r.text(); return r.ok; }
    if (number == 4 && wire == 0) { this.builtAt = <i64>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of environment.get and environment.delete. */
export class EnvironmentRequest extends Message {
  name: string = "";

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** The one error that crosses the ABI, in both directions. */
export class Error extends Message {
  code: u32 = 0;
  /** for people */
  message: string = "";
  retryable: bool = false;
  /** well-known keys: entry, segment, step, row, key */
  details: Map<string, string> = new Map<string, string>();

  encode(w: Writer): void {
    if (this.code != 0) w.varint(1, <u64>this.code);
    if (this.message.length > 0) w.text(2, this.message);
    if (this.retryable) w.varint(3, <u64>this.retryable);
    w.map(4, this.details);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.code = <u32>r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.message = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.retryable = r.varint() != 0; return r.ok; }
    if (number == 4 && wire == 2) return r.entry(this.details);
    return r.skip(wire);
  }
}

/** Request of ledger.find_sandbox. */
export class FindSandboxRequest extends Message {
  sandboxId: string = "";

  encode(w: Writer): void {
    if (this.sandboxId.length > 0) w.text(1, this.sandboxId);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** One header of a reply. */
export class HTTPField extends Message {
  /** canonical: Content-Type */
  name: string = "";
  value: string = "";

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.value.length > 0) w.text(2, this.value);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.value = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** One header of a request. */
export class HTTPHeader extends Message {
  name: string = "";
  value: Array<HTTPPart> = [];

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    for (let i = 0; i < this.value.length; i++) w.message(2, this.value[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) {
      const element = new HTTPPart();
      return r.message(element) && r.push<HTTPPart>(this.value, element);
    }
    return r.skip(wire);
  }
}

/** A piece of a body or header. */
export class HTTPPart extends Message {
  literal: Uint8Array = new Uint8Array(0);
  /** handle; not 0: it stands in the place of literal */
  secret: u64 = 0;
  encoding: u32 = 0;

  encode(w: Writer): void {
    if (this.literal.length > 0) w.bytes(1, this.literal);
    if (this.secret != 0) w.varint(2, <u64>this.secret);
    if (this.encoding != 0) w.varint(3, <u64>this.encoding);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.literal = r.bytes(); return r.ok; }
    if (number == 2 && wire == 0) { this.secret = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.encoding = <u32>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of http.send. */
export class HTTPReply extends Message {
  status: u64 = 0;
  headers: Array<HTTPField> = [];
  body: Uint8Array = new Uint8Array(0);
  /** handles, one of each of extract; 0 where there is no text */
  secrets: Array<u64> = [];

  encode(w: Writer): void {
    if (this.status != 0) w.varint(1, <u64>this.status);
    for (let i = 0; i < this.headers.length; i++) w.message(2, this.headers[i]);
    if (this.body.length > 0) w.bytes(3, this.body);
    w.packed(4, this.secrets);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.status = r.varint(); return r.ok; }
    if (number == 2 && wire == 2) {
      const element = new HTTPField();
      return r.message(element) && r.push<HTTPField>(this.headers, element);
    }
    if (number == 3 && wire == 2) { this.body = r.bytes(); return r.ok; }
    if (number == 4 && wire == 0) return r.push<u64>(this.secrets, r.varint());
    if (number == 4 && wire == 2) return r.packed(this.secrets);
    return r.skip(wire);
  }
}

/** Request of http.send. */
export class HTTPRequest extends Message {
  /** handle that came with the call; 0: url is a whole one */
  endpoint: u64 = 0;
  /** with an endpoint: path and query below it */
  url: string = "";
  /** empty: GET */
  method: string = "";
  headers: Array<HTTPHeader> = [];
  body: Array<HTTPPart> = [];
  /** of the reply's body; 0: the host's bound */
  maxBytes: u64 = 0;
  /** 0: what is left of the call */
  timeoutMs: u64 = 0;
  /** JSON pointers: texts of the reply that become secrets */
  extract: Array<string> = [];
  /** JSON pointers: parts of the reply that become null */
  hide: Array<string> = [];

  encode(w: Writer): void {
    if (this.endpoint != 0) w.varint(1, <u64>this.endpoint);
    if (this.url.length > 0) w.text(2, this.url);
    if (this.method.length > 0) w.text(3, this.method);
    for (let i = 0; i < this.headers.length; i++) w.message(4, this.headers[i]);
    for (let i = 0; i < this.body.length; i++) w.message(5, this.body[i]);
    if (this.maxBytes != 0) w.varint(6, <u64>this.maxBytes);
    if (this.timeoutMs != 0) w.varint(7, <u64>this.timeoutMs);
    for (let i = 0; i < this.extract.length; i++) w.text(8, this.extract[i]);
    for (let i = 0; i < this.hide.length; i++) w.text(9, this.hide[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.endpoint = r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.url = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.method = r.text(); return r.ok; }
    if (number == 4 && wire == 2) {
      const element = new HTTPHeader();
      return r.message(element) && r.push<HTTPHeader>(this.headers, element);
    }
    if (number == 5 && wire == 2) {
      const element = new HTTPPart();
      return r.message(element) && r.push<HTTPPart>(this.body, element);
    }
    if (number == 6 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    if (number == 7 && wire == 0) { this.timeoutMs = r.varint(); return r.ok; }
    if (number == 8 && wire == 2) return r.push<string>(this.extract, r.text());
    if (number == 9 && wire == 2) return r.push<string>(this.hide, r.text());
    return r.skip(wire);
  }
}

/** Reply of ledger.open: where a sandbox's ledger stands. */
export class Head extends Message {
  /** the claim that may append */
  epoch: u64 = 0;
  /** highest step, -1 when there is none */
  lastStep: i64 = 0;
  /** highest time, Unix milliseconds, 0 when there is none */
  maxTs: i64 = 0;
  /** rows */
  entries: u64 = 0;
  /** of the last segment, empty when there is none */
  hash: Uint8Array = new Uint8Array(0);
  /** of the last segment, empty when there is none */
  segmentId: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.epoch != 0) w.varint(1, <u64>this.epoch);
    if (this.lastStep != 0) w.zigzag(2, this.lastStep);
    if (this.maxTs != 0) w.varint(3, <u64>this.maxTs);
    if (this.entries != 0) w.varint(4, <u64>this.entries);
    if (this.hash.length > 0) w.bytes(5, this.hash);
    if (this.segmentId.length > 0) w.bytes(6, this.segmentId);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.epoch = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.lastStep = r.zigzag(); return r.ok; }
    if (number == 3 && wire == 0) { this.maxTs = <i64>r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.entries = r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { this.hash = r.bytes(); return r.ok; }
    if (number == 6 && wire == 2) { this.segmentId = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of health. */
export class HealthReply extends Message {
  message: string = "";

  encode(w: Writer): void {
    if (this.message.length > 0) w.text(1, this.message);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.message = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of instances.put. */
export class Instance extends Message {
  key: string = "";
  provider: string = "";
  providerSandboxId: string = "";
  hasLatestSnapshotId: bool = false;
  latestSnapshotId: string = "";
  threadId: string = "";
  hasLatestRunId: bool = false;
  latestRunId: string = "";
  /** Unix milliseconds; 0: the store's clock */
  updatedAt: i64 = 0;

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
    if (this.provider.length > 0) w.text(2, this.provider);
    if (this.providerSandboxId.length > 0) w.text(3, this.providerSandboxId);
    if (this.hasLatestSnapshotId) w.text(4, this.latestSnapshotId);
    if (this.threadId.length > 0) w.text(5, this.threadId);
    if (this.hasLatestRunId) w.text(6, this.latestRunId);
    if (this.updatedAt != 0) w.varint(7, <u64>this.updatedAt);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.provider = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.providerSandboxId = r.text(); return r.ok; }
    if (number == 4 && wire == 2) { this.hasLatestSnapshotId = true; this.latestSnapshotId = r.text(); return r.ok; }
    if (number == 5 && wire == 2) { this.threadId = r.text(); return r.ok; }
    if (number == 6 && wire == 2) { this.hasLatestRunId = true; this.latestRunId = r.text(); return r.ok; }
    if (number == 7 && wire == 0) { this.updatedAt = <i64>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of instances.delete_if. */
export class InstanceDeleteIf extends Message {
  key: string = "";
  /** provider sandbox id of the stored record */
  expected: string = "";

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
    if (this.expected.length > 0) w.text(2, this.expected);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.expected = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of instances.list. */
export class InstanceListRequest extends Message {
  /** strictly, Unix milliseconds */
  hasUpdatedBefore: bool = false;
  updatedBefore: i64 = 0;
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;

  encode(w: Writer): void {
    if (this.hasUpdatedBefore) w.varint(1, <u64>this.updatedBefore);
    if (this.cursor.length > 0) w.bytes(2, this.cursor);
    if (this.limit != 0) w.varint(3, <u64>this.limit);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.hasUpdatedBefore = true; this.updatedBefore = <i64>r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 3 && wire == 0) { this.limit = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of instances.put_if. */
export class InstancePutIf extends Message {
  instance: Instance = new Instance();
  /** provider sandbox id of the stored record; absent: there is none */
  hasExpected: bool = false;
  expected: string = "";

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.instance);
    if (this.hasExpected) w.text(2, this.expected);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.instance); }
    if (number == 2 && wire == 2) { this.hasExpected = true; this.expected = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request that names one thing: the key of an instance, the id of a run or of a thread, the run of a log. */
export class KeyRequest extends Message {
  key: string = "";

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.last_checkpoint. */
export class LastCheckpointRequest extends Message {
  key: SandboxKey = new SandboxKey();
  /** empty: any */
  tag: string = "";

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.key);
    if (this.tag.length > 0) w.text(2, this.tag);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.key); }
    if (number == 2 && wire == 2) { this.tag = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of locks.renew and locks.release. */
export class LeaseRequest extends Message {
  key: string = "";
  token: string = "";
  /** locks.renew: from now on */
  ttlMs: u64 = 0;

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
    if (this.token.length > 0) w.text(2, this.token);
    if (this.ttlMs != 0) w.varint(3, <u64>this.ttlMs);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.token = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.ttlMs = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of ledger.append: the batch is durable. */
export class LedgerAppendReply extends Message {
  /** this identical batch had been applied before */
  already: bool = false;

  encode(w: Writer): void {
    if (this.already) w.varint(1, <u64>this.already);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.already = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.append. The entries stay on the host, behind handles. */
export class LedgerAppendRequest extends Message {
  /** batch handle */
  entries: u64 = 0;
  /** batch handle */
  segments: u64 = 0;
  entryCount: u64 = 0;
  segmentCount: u64 = 0;
  /** bytes of text in the entries */
  size: u64 = 0;

  encode(w: Writer): void {
    if (this.entries != 0) w.varint(1, <u64>this.entries);
    if (this.segments != 0) w.varint(2, <u64>this.segments);
    if (this.entryCount != 0) w.varint(3, <u64>this.entryCount);
    if (this.segmentCount != 0) w.varint(4, <u64>this.segmentCount);
    if (this.size != 0) w.varint(5, <u64>this.size);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.entries = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.segments = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.entryCount = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.segmentCount = r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.size = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.open, which claims a sandbox's ledger for one driver. */
export class LedgerOpenRequest extends Message {
  key: SandboxKey = new SandboxKey();

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.key);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.key); }
    return r.skip(wire);
  }
}

/** Request of ledger.read. An empty key reads every sandbox's entries. */
export class LedgerReadRequest extends Message {
  key: SandboxKey = new SandboxKey();
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;
  /** stop after the row that passes this; 0 lets the guest choose */
  maxBytes: u64 = 0;
  /** not 0: the page is the last so many rows at most; the cursor is empty then */
  last: u64 = 0;

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.key);
    if (this.cursor.length > 0) w.bytes(2, this.cursor);
    if (this.limit != 0) w.varint(3, <u64>this.limit);
    if (this.maxBytes != 0) w.varint(4, <u64>this.maxBytes);
    if (this.last != 0) w.varint(5, <u64>this.last);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.key); }
    if (number == 2 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 3 && wire == 0) { this.limit = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.last = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.list_sandboxes. What is absent or empty does not filter. */
export class ListSandboxesRequest extends Message {
  name: string = "";
  status: string = "";
  /** 0 lists nothing */
  hasLimit: bool = false;
  limit: u64 = 0;
  /** strictly smaller start, Unix milliseconds */
  hasBefore: bool = false;
  before: i64 = 0;
  runId: string = "";
  resourceId: string = "";
  teamId: string = "";
  cursor: Uint8Array = new Uint8Array(0);
  /** what the sandbox id begins with; a guest need not know it */
  idPrefix: string = "";

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.status.length > 0) w.text(2, this.status);
    if (this.hasLimit) w.varint(3, <u64>this.limit);
    if (this.hasBefore) w.varint(4, <u64>this.before);
    if (this.runId.length > 0) w.text(5, this.runId);
    if (this.resourceId.length > 0) w.text(6, this.resourceId);
    if (this.teamId.length > 0) w.text(7, this.teamId);
    if (this.cursor.length > 0) w.bytes(8, this.cursor);
    if (this.idPrefix.length > 0) w.text(9, this.idPrefix);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.status = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.hasLimit = true; this.limit = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.hasBefore = true; this.before = <i64>r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { this.runId = r.text(); return r.ok; }
    if (number == 6 && wire == 2) { this.resourceId = r.text(); return r.ok; }
    if (number == 7 && wire == 2) { this.teamId = r.text(); return r.ok; }
    if (number == 8 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 9 && wire == 2) { this.idPrefix = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of locks.try_acquire. */
export class LockReply extends Message {
  acquired: bool = false;
  /** when it was acquired */
  token: string = "";
  /** when it was acquired: higher than any that the key had */
  fence: u64 = 0;
  /** who holds it */
  owner: string = "";
  /** how long, if it is not renewed */
  leftMs: u64 = 0;
  /** the store's clock, Unix milliseconds */
  now: i64 = 0;

  encode(w: Writer): void {
    if (this.acquired) w.varint(1, <u64>this.acquired);
    if (this.token.length > 0) w.text(2, this.token);
    if (this.fence != 0) w.varint(3, <u64>this.fence);
    if (this.owner.length > 0) w.text(4, this.owner);
    if (this.leftMs != 0) w.varint(5, <u64>this.leftMs);
    if (this.now != 0) w.varint(6, <u64>this.now);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.acquired = r.varint() != 0; return r.ok; }
    if (number == 2 && wire == 2) { this.token = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.fence = r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.owner = r.text(); return r.ok; }
    if (number == 5 && wire == 0) { this.leftMs = r.varint(); return r.ok; }
    if (number == 6 && wire == 0) { this.now = <i64>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of locks.try_acquire. */
export class LockRequest extends Message {
  key: string = "";
  /** shown to those who find it busy */
  owner: string = "";
  ttlMs: u64 = 0;

  encode(w: Writer): void {
    if (this.key.length > 0) w.text(1, this.key);
    if (this.owner.length > 0) w.text(2, this.owner);
    if (this.ttlMs != 0) w.varint(3, <u64>this.ttlMs);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.key = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.owner = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.ttlMs = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of log.append. */
export class LogAppendRequest extends Message {
  runId: string = "";
  epoch: u64 = 0;
  /** the offset that the log must end with */
  hasAfter: bool = false;
  after: u64 = 0;
  /** batch handle; 0: no events */
  events: u64 = 0;
  count: u64 = 0;
  /** bytes of data */
  size: u64 = 0;

  encode(w: Writer): void {
    if (this.runId.length > 0) w.text(1, this.runId);
    if (this.epoch != 0) w.varint(2, <u64>this.epoch);
    if (this.hasAfter) w.varint(3, <u64>this.after);
    if (this.events != 0) w.varint(4, <u64>this.events);
    if (this.count != 0) w.varint(5, <u64>this.count);
    if (this.size != 0) w.varint(6, <u64>this.size);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.runId = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.epoch = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.hasAfter = true; this.after = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.events = r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.count = r.varint(); return r.ok; }
    if (number == 6 && wire == 0) { this.size = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of log.read. */
export class LogPage extends Message {
  /** handle of the page, or 0 */
  rows: u64 = 0;
  /** the page itself when there is no handle */
  table: Uint8Array = new Uint8Array(0);
  /** offset of the last event that was ever stored */
  tail: u64 = 0;
  /** offset of the last event that was removed */
  dropped: u64 = 0;
  /** highest that the log has seen */
  epoch: u64 = 0;
  closed: bool = false;
  /** there are events behind the last row */
  more: bool = false;

  encode(w: Writer): void {
    if (this.rows != 0) w.varint(1, <u64>this.rows);
    if (this.table.length > 0) w.bytes(2, this.table);
    if (this.tail != 0) w.varint(3, <u64>this.tail);
    if (this.dropped != 0) w.varint(4, <u64>this.dropped);
    if (this.epoch != 0) w.varint(5, <u64>this.epoch);
    if (this.closed) w.varint(6, <u64>this.closed);
    if (this.more) w.varint(7, <u64>this.more);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.rows = r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.table = r.bytes(); return r.ok; }
    if (number == 3 && wire == 0) { this.tail = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.dropped = r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.epoch = r.varint(); return r.ok; }
    if (number == 6 && wire == 0) { this.closed = r.varint() != 0; return r.ok; }
    if (number == 7 && wire == 0) { this.more = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Request of log.read. */
export class LogReadRequest extends Message {
  runId: string = "";
  /** offset that the page is behind */
  after: u64 = 0;
  /** most events; 0 lets the guest choose */
  limit: u64 = 0;
  /** stop after the event that passes this; 0 lets the guest choose */
  maxBytes: u64 = 0;

  encode(w: Writer): void {
    if (this.runId.length > 0) w.text(1, this.runId);
    if (this.after != 0) w.varint(2, <u64>this.after);
    if (this.limit != 0) w.varint(3, <u64>this.limit);
    if (this.maxBytes != 0) w.varint(4, <u64>this.maxBytes);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.runId = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.after = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.limit = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of log.append. */
export class LogTail extends Message {
  /** offset of the log's last event */
  tail: u64 = 0;

  encode(w: Writer): void {
    if (this.tail != 0) w.varint(1, <u64>this.tail);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.tail = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of describe. */
export class Manifest extends Message {
  name: string = "";
  version: string = "";
  /** "ledger", … */
  kinds: Array<string> = [];
  /** optional operations that it has, by name */
  optional: Array<string> = [];
  capabilities: Array<Want> = [];
  /** JSON Schema of [plugins.NAME.config] */
  configSchema: string = "";
  state: u32 = 0;

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.version.length > 0) w.text(2, this.version);
    for (let i = 0; i < this.kinds.length; i++) w.text(3, this.kinds[i]);
    for (let i = 0; i < this.optional.length; i++) w.text(4, this.optional[i]);
    for (let i = 0; i < this.capabilities.length; i++) w.message(5, this.capabilities[i]);
    if (this.configSchema.length > 0) w.text(6, this.configSchema);
    if (this.state != 0) w.varint(7, <u64>this.state);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.version = r.text(); return r.ok; }
    if (number == 3 && wire == 2) return r.push<string>(this.kinds, r.text());
    if (number == 4 && wire == 2) return r.push<string>(this.optional, r.text());
    if (number == 5 && wire == 2) {
      const element = new Want();
      return r.message(element) && r.push<Want>(this.capabilities, element);
    }
    if (number == 6 && wire == 2) { this.configSchema = r.text(); return r.ok; }
    if (number == 7 && wire == 0) { this.state = <u32>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** One binding of a sandbox. */
export class NamedBinding extends Message {
  name: string = "";
  binding: Binding = new Binding();
  /** the broker can't say all of it */
  partial: bool = false;

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    w.messageUnlessEmpty(2, this.binding);
    if (this.partial) w.varint(3, <u64>this.partial);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { return r.message(this.binding); }
    if (number == 3 && wire == 0) { this.partial = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.list_heads and ledger.list_tombstones. */
export class PageRequest extends Message {
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;
  /** stop after the row that passes this; 0 lets the guest choose */
  maxBytes: u64 = 0;

  encode(w: Writer): void {
    if (this.cursor.length > 0) w.bytes(1, this.cursor);
    if (this.limit != 0) w.varint(2, <u64>this.limit);
    if (this.maxBytes != 0) w.varint(3, <u64>this.maxBytes);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 2 && wire == 0) { this.limit = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of runs.list_reclaimable. */
export class ReclaimRequest extends Message {
  /** "running" or "interrupted" */
  status: string = "";
  ttlMs: u64 = 0;
  /** what to reckon from, Unix milliseconds; 0: the store's clock */
  now: i64 = 0;
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;

  encode(w: Writer): void {
    if (this.status.length > 0) w.text(1, this.status);
    if (this.ttlMs != 0) w.varint(2, <u64>this.ttlMs);
    if (this.now != 0) w.varint(3, <u64>this.now);
    if (this.cursor.length > 0) w.bytes(4, this.cursor);
    if (this.limit != 0) w.varint(5, <u64>this.limit);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.status = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.ttlMs = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.now = <i64>r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 5 && wire == 0) { this.limit = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** The envelope of every request from the host to a guest. */
export class Request extends Message {
  /** unique within the host's life */
  callId: u64 = 0;
  /** milliseconds left when the call was made; 0 is none */
  deadlineMs: u64 = 0;
  /** W3C trace context, or empty */
  traceparent: string = "";
  /** the operation's own message */
  body: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.callId != 0) w.varint(1, <u64>this.callId);
    if (this.deadlineMs != 0) w.varint(2, <u64>this.deadlineMs);
    if (this.traceparent.length > 0) w.text(3, this.traceparent);
    if (this.body.length > 0) w.bytes(4, this.body);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.callId = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.deadlineMs = r.varint(); return r.ok; }
    if (number == 3 && wire == 2) { this.traceparent = r.text(); return r.ok; }
    if (number == 4 && wire == 2) { this.body = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** A page of rows: behind a handle when rows is not 0, else in table. */
export class RowsReply extends Message {
  rows: u64 = 0;
  table: Uint8Array = new Uint8Array(0);
  /** where the next page starts, opaque */
  cursor: Uint8Array = new Uint8Array(0);
  more: bool = false;
  /** the store's clock, Unix milliseconds, of operations that tell it */
  now: i64 = 0;

  encode(w: Writer): void {
    if (this.rows != 0) w.varint(1, <u64>this.rows);
    if (this.table.length > 0) w.bytes(2, this.table);
    if (this.cursor.length > 0) w.bytes(3, this.cursor);
    if (this.more) w.varint(4, <u64>this.more);
    if (this.now != 0) w.varint(5, <u64>this.now);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.rows = r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.table = r.bytes(); return r.ok; }
    if (number == 3 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 4 && wire == 0) { this.more = r.varint() != 0; return r.ok; }
    if (number == 5 && wire == 0) { this.now = <i64>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of runs.create_or_get. */
export class RunCreate extends Message {
  runId: string = "";
  threadId: string = "";
  status: string = "";
  /** Unix milliseconds; absent: the store's clock */
  hasStartedAt: bool = false;
  startedAt: i64 = 0;
  hasSandboxKey: bool = false;
  sandboxKey: string = "";
  /** only runs.secret gives it out */
  secret: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.runId.length > 0) w.text(1, this.runId);
    if (this.threadId.length > 0) w.text(2, this.threadId);
    if (this.status.length > 0) w.text(3, this.status);
    if (this.hasStartedAt) w.varint(4, <u64>this.startedAt);
    if (this.hasSandboxKey) w.text(5, this.sandboxKey);
    if (this.secret.length > 0) w.bytes(6, this.secret);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.runId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.threadId = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.status = r.text(); return r.ok; }
    if (number == 4 && wire == 0) { this.hasStartedAt = true; this.startedAt = <i64>r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { this.hasSandboxKey = true; this.sandboxKey = r.text(); return r.ok; }
    if (number == 6 && wire == 2) { this.secret = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of runs.list_by_thread and runs.list. */
export class RunListRequest extends Message {
  threadId: string = "";
  status: string = "";
  /** strictly, Unix milliseconds */
  hasFinishedBefore: bool = false;
  finishedBefore: i64 = 0;
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;

  encode(w: Writer): void {
    if (this.threadId.length > 0) w.text(1, this.threadId);
    if (this.status.length > 0) w.text(2, this.status);
    if (this.hasFinishedBefore) w.varint(3, <u64>this.finishedBefore);
    if (this.cursor.length > 0) w.bytes(4, this.cursor);
    if (this.limit != 0) w.varint(5, <u64>this.limit);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.threadId = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.status = r.text(); return r.ok; }
    if (number == 3 && wire == 0) { this.hasFinishedBefore = true; this.finishedBefore = <i64>r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 5 && wire == 0) { this.limit = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of runs.patch and runs.patch_if. */
export class RunPatch extends Message {
  runId: string = "";
  /** runs.patch_if: only a run of this driver epoch that has not ended */
  hasEpoch: bool = false;
  epoch: u64 = 0;
  hasStatus: bool = false;
  status: string = "";
  hasFinishedAt: bool = false;
  finishedAt: i64 = 0;
  /** with it the error is replaced, code and all */
  hasErrorMessage: bool = false;
  errorMessage: string = "";
  hasErrorCode: bool = false;
  errorCode: string = "";
  /** JSON */
  usage: Uint8Array = new Uint8Array(0);
  hasSandboxKey: bool = false;
  sandboxKey: string = "";
  hasDetachedSince: bool = false;
  detachedSince: i64 = 0;
  hasCancelRequested: bool = false;
  cancelRequested: bool = false;
  hasDriverEpoch: bool = false;
  driverEpoch: u64 = 0;
  /** names of fields that become absent */
  clear: Array<string> = [];
  /** names of fields that get the time of the store's clock */
  now: Array<string> = [];

  encode(w: Writer): void {
    if (this.runId.length > 0) w.text(1, this.runId);
    if (this.hasEpoch) w.varint(2, <u64>this.epoch);
    if (this.hasStatus) w.text(3, this.status);
    if (this.hasFinishedAt) w.varint(4, <u64>this.finishedAt);
    if (this.hasErrorMessage) w.text(5, this.errorMessage);
    if (this.hasErrorCode) w.text(6, this.errorCode);
    if (this.usage.length > 0) w.bytes(7, this.usage);
    if (this.hasSandboxKey) w.text(8, this.sandboxKey);
    if (this.hasDetachedSince) w.varint(9, <u64>this.detachedSince);
    if (this.hasCancelRequested) w.varint(10, <u64>this.cancelRequested);
    if (this.hasDriverEpoch) w.varint(11, <u64>this.driverEpoch);
    for (let i = 0; i < this.clear.length; i++) w.text(12, this.clear[i]);
    for (let i = 0; i < this.now.length; i++) w.text(13, this.now[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.runId = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.hasEpoch = true; this.epoch = r.varint(); return r.ok; }
    if (number == 3 && wire == 2) { this.hasStatus = true; this.status = r.text(); return r.ok; }
    if (number == 4 && wire == 0) { this.hasFinishedAt = true; this.finishedAt = <i64>r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { this.hasErrorMessage = true; this.errorMessage = r.text(); return r.ok; }
    if (number == 6 && wire == 2) { this.hasErrorCode = true; this.errorCode = r.text(); return r.ok; }
    if (number == 7 && wire == 2) { this.usage = r.bytes(); return r.ok; }
    if (number == 8 && wire == 2) { this.hasSandboxKey = true; this.sandboxKey = r.text(); return r.ok; }
    if (number == 9 && wire == 0) { this.hasDetachedSince = true; this.detachedSince = <i64>r.varint(); return r.ok; }
    if (number == 10 && wire == 0) { this.hasCancelRequested = true; this.cancelRequested = r.varint() != 0; return r.ok; }
    if (number == 11 && wire == 0) { this.hasDriverEpoch = true; this.driverEpoch = r.varint(); return r.ok; }
    if (number == 12 && wire == 2) return r.push<string>(this.clear, r.text());
    if (number == 13 && wire == 2) return r.push<string>(this.now, r.text());
    return r.skip(wire);
  }
}

/** Reply of operations on one run. */
export class RunReply extends Message {
  outcome: u32 = 0;
  /** handle of a page of one row, or 0 */
  rows: u64 = 0;
  /** the page itself when there is no handle */
  table: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.outcome != 0) w.varint(1, <u64>this.outcome);
    if (this.rows != 0) w.varint(2, <u64>this.rows);
    if (this.table.length > 0) w.bytes(3, this.table);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.outcome = <u32>r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.rows = r.varint(); return r.ok; }
    if (number == 3 && wire == 2) { this.table = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of runs.secret. */
export class RunSecret extends Message {
  /** empty: there is none */
  secret: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.secret.length > 0) w.bytes(1, this.secret);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.secret = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of sql.exec: a program, whose steps run in order in one transaction. */
export class SQLExec extends Message {
  /** a granted database, by name */
  database: string = "";
  readOnly: bool = false;
  /** at most 4,096, with 65,536 parameters in all of them together */
  steps: Array<SQLStep> = [];

  encode(w: Writer): void {
    if (this.database.length > 0) w.text(1, this.database);
    if (this.readOnly) w.varint(2, <u64>this.readOnly);
    for (let i = 0; i < this.steps.length; i++) w.message(3, this.steps[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.database = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.readOnly = r.varint() != 0; return r.ok; }
    if (number == 3 && wire == 2) {
      const element = new SQLStep();
      return r.message(element) && r.push<SQLStep>(this.steps, element);
    }
    return r.skip(wire);
  }
}

/** Reply of sql.exec: one result a step. */
export class SQLExecReply extends Message {
  steps: Array<SQLStepResult> = [];

  encode(w: Writer): void {
    for (let i = 0; i < this.steps.length; i++) w.message(1, this.steps[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) {
      const element = new SQLStepResult();
      return r.message(element) && r.push<SQLStepResult>(this.steps, element);
    }
    return r.skip(wire);
  }
}

/** One bound value, in the statement's order. */
export class SQLParam extends Message {
  kind: u32 = 0;
  /** literal: exactly one tagged value as in a table; empty is null */
  value: Value = Value.null();
  /** column and result */
  column: u32 = 0;
  /** result */
  step: u32 = 0;

  encode(w: Writer): void {
    if (this.kind != 0) w.varint(1, <u64>this.kind);
    w.value(2, this.value);
    if (this.column != 0) w.varint(3, <u64>this.column);
    if (this.step != 0) w.varint(4, <u64>this.step);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.kind = <u32>r.varint(); return r.ok; }
    if (number == 2 && wire == 2) { this.value = r.value(); return r.ok; }
    if (number == 3 && wire == 0) { this.column = <u32>r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.step = <u32>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** One statement. */
export class SQLStep extends Message {
  sql: string = "";
  params: Array<SQLParam> = [];
  /** 0: run once; else a handle: run for each of its rows */
  batch: u64 = 0;
  /** the same statement for many_rows rows at once; optional */
  manySql: string = "";
  manyRows: u64 = 0;
  /** rows that each run must change, or return when it returns rows */
  hasExpect: bool = false;
  expect: u64 = 0;
  /** when expect is not met; conflict when 0 */
  mismatchCode: u32 = 0;
  mismatchMessage: string = "";
  result: u32 = 0;
  /** 0: no bound but the host's */
  maxRows: u64 = 0;
  /** stop after the row that passes this; 0: no bound but the host's */
  maxBytes: u64 = 0;

  encode(w: Writer): void {
    if (this.sql.length > 0) w.text(1, this.sql);
    for (let i = 0; i < this.params.length; i++) w.message(2, this.params[i]);
    if (this.batch != 0) w.varint(3, <u64>this.batch);
    if (this.manySql.length > 0) w.text(4, this.manySql);
    if (this.manyRows != 0) w.varint(5, <u64>this.manyRows);
    if (this.hasExpect) w.varint(6, <u64>this.expect);
    if (this.mismatchCode != 0) w.varint(7, <u64>this.mismatchCode);
    if (this.mismatchMessage.length > 0) w.text(8, this.mismatchMessage);
    if (this.result != 0) w.varint(9, <u64>this.result);
    if (this.maxRows != 0) w.varint(10, <u64>this.maxRows);
    if (this.maxBytes != 0) w.varint(11, <u64>this.maxBytes);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sql = r.text(); return r.ok; }
    if (number == 2 && wire == 2) {
      const element = new SQLParam();
      return r.message(element) && r.push<SQLParam>(this.params, element);
    }
    if (number == 3 && wire == 0) { this.batch = r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.manySql = r.text(); return r.ok; }
    if (number == 5 && wire == 0) { this.manyRows = r.varint(); return r.ok; }
    if (number == 6 && wire == 0) { this.hasExpect = true; this.expect = r.varint(); return r.ok; }
    if (number == 7 && wire == 0) { this.mismatchCode = <u32>r.varint(); return r.ok; }
    if (number == 8 && wire == 2) { this.mismatchMessage = r.text(); return r.ok; }
    if (number == 9 && wire == 0) { this.result = <u32>r.varint(); return r.ok; }
    if (number == 10 && wire == 0) { this.maxRows = r.varint(); return r.ok; }
    if (number == 11 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** What a step did. */
export class SQLStepResult extends Message {
  /** rows inserted, changed or deleted, over all runs */
  affected: u64 = 0;
  /** rows kept */
  rowCount: u64 = 0;
  /** inline: a table */
  rows: Uint8Array = new Uint8Array(0);
  /** handle */
  handle: u64 = 0;
  /** handle: the last row kept, as a table of one row */
  last: Uint8Array = new Uint8Array(0);
  /** a bound ended the rows before the statement did */
  more: bool = false;

  encode(w: Writer): void {
    if (this.affected != 0) w.varint(1, <u64>this.affected);
    if (this.rowCount != 0) w.varint(2, <u64>this.rowCount);
    if (this.rows.length > 0) w.bytes(3, this.rows);
    if (this.handle != 0) w.varint(4, <u64>this.handle);
    if (this.last.length > 0) w.bytes(5, this.last);
    if (this.more) w.varint(6, <u64>this.more);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.affected = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.rowCount = r.varint(); return r.ok; }
    if (number == 3 && wire == 2) { this.rows = r.bytes(); return r.ok; }
    if (number == 4 && wire == 0) { this.handle = r.varint(); return r.ok; }
    if (number == 5 && wire == 2) { this.last = r.bytes(); return r.ok; }
    if (number == 6 && wire == 0) { this.more = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Request of runs.count_by_sandbox. */
export class SandboxCountRequest extends Message {
  sandboxKey: string = "";
  /** a run that does not count */
  except: string = "";

  encode(w: Writer): void {
    if (this.sandboxKey.length > 0) w.text(1, this.sandboxKey);
    if (this.except.length > 0) w.text(2, this.except);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.sandboxKey = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.except = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Names one sandbox's ledger. */
export class SandboxKey extends Message {
  name: string = "";
  sandboxId: string = "";

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.sandboxId.length > 0) w.text(2, this.sandboxId);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.sandboxId = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.list_checkpoints and ledger.list_segments. */
export class SandboxPageRequest extends Message {
  key: SandboxKey = new SandboxKey();
  /** of the page before; empty starts at the beginning */
  cursor: Uint8Array = new Uint8Array(0);
  /** most rows; 0 lets the guest choose */
  limit: u64 = 0;
  /** stop after the row that passes this; 0 lets the guest choose */
  maxBytes: u64 = 0;

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.key);
    if (this.cursor.length > 0) w.bytes(2, this.cursor);
    if (this.limit != 0) w.varint(3, <u64>this.limit);
    if (this.maxBytes != 0) w.varint(4, <u64>this.maxBytes);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.key); }
    if (number == 2 && wire == 2) { this.cursor = r.bytes(); return r.ok; }
    if (number == 3 && wire == 0) { this.limit = r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.maxBytes = r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Request of ledger.get_sandbox, ledger.delete_sandbox and ledger.usage. */
export class SandboxRequest extends Message {
  key: SandboxKey = new SandboxKey();

  encode(w: Writer): void {
    w.messageUnlessEmpty(1, this.key);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { return r.message(this.key); }
    return r.skip(wire);
  }
}

/** Request of secret.get. */
export class SecretGet extends Message {
  name: string = "";
  /** one that secret.keep kept */
  kept: bool = false;

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.kept) w.varint(2, <u64>this.kept);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.kept = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Request of secret.keep. */
export class SecretKeep extends Message {
  name: string = "";
  /** handle; 0 forgets */
  secret: u64 = 0;
  /** 0: until the plugin ends */
  ttlMs: u64 = 0;
  /** nothing secret */
  note: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.secret != 0) w.varint(2, <u64>this.secret);
    if (this.ttlMs != 0) w.varint(3, <u64>this.ttlMs);
    if (this.note.length > 0) w.bytes(4, this.note);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 0) { this.secret = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.ttlMs = r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.note = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of secret.get. */
export class SecretReply extends Message {
  /** handle */
  secret: u64 = 0;
  /** another number when the value is another */
  version: u64 = 0;
  /** of a kept one: what is left; 0: no end */
  expiresMs: u64 = 0;
  /** of a kept one */
  note: Uint8Array = new Uint8Array(0);

  encode(w: Writer): void {
    if (this.secret != 0) w.varint(1, <u64>this.secret);
    if (this.version != 0) w.varint(2, <u64>this.version);
    if (this.expiresMs != 0) w.varint(3, <u64>this.expiresMs);
    if (this.note.length > 0) w.bytes(4, this.note);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.secret = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.version = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.expiresMs = r.varint(); return r.ok; }
    if (number == 4 && wire == 2) { this.note = r.bytes(); return r.ok; }
    return r.skip(wire);
  }
}

/** Where a credential's value comes from. */
export class Source extends Message {
  /** "env" or "external"; empty is "external" */
  type: string = "";
  /** env */
  varName: string = "";
  /** external: in the broker's own words */
  ref: string = "";

  encode(w: Writer): void {
    if (this.type.length > 0) w.text(1, this.type);
    if (this.varName.length > 0) w.text(2, this.varName);
    if (this.ref.length > 0) w.text(3, this.ref);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.type = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.varName = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.ref = r.text(); return r.ok; }
    return r.skip(wire);
  }
}

/** Reply of ledger.stats. */
export class Stats extends Message {
  /** -1 when it can't be told cheaply */
  entries: i64 = 0;
  /** on disk, with indexes and free space; -1 when unknown */
  storageBytes: i64 = 0;
  schemaVersion: i64 = 0;

  encode(w: Writer): void {
    if (this.entries != 0) w.zigzag(1, this.entries);
    if (this.storageBytes != 0) w.zigzag(2, this.storageBytes);
    if (this.schemaVersion != 0) w.varint(3, <u64>this.schemaVersion);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.entries = r.zigzag(); return r.ok; }
    if (number == 2 && wire == 0) { this.storageBytes = r.zigzag(); return r.ok; }
    if (number == 3 && wire == 0) { this.schemaVersion = <i64>r.varint(); return r.ok; }
    return r.skip(wire);
  }
}

/** Puts the value in the place of a text. */
export class Substitution extends Message {
  placeholder: string = "";
  /** path, query, header, body */
  in_: Array<string> = [];

  encode(w: Writer): void {
    if (this.placeholder.length > 0) w.text(1, this.placeholder);
    for (let i = 0; i < this.in_.length; i++) w.text(2, this.in_[i]);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.placeholder = r.text(); return r.ok; }
    if (number == 2 && wire == 2) return r.push<string>(this.in_, r.text());
    return r.skip(wire);
  }
}

/** Reply of ledger.usage. */
export class Usage extends Message {
  entries: u64 = 0;
  /** of payloads and errors as text */
  bytes: u64 = 0;
  /** Unix milliseconds, 0 without entries */
  firstTs: i64 = 0;
  lastTs: i64 = 0;
  /** it has sandbox.created */
  created: bool = false;
  /** it has sandbox.closed */
  closed: bool = false;

  encode(w: Writer): void {
    if (this.entries != 0) w.varint(1, <u64>this.entries);
    if (this.bytes != 0) w.varint(2, <u64>this.bytes);
    if (this.firstTs != 0) w.varint(3, <u64>this.firstTs);
    if (this.lastTs != 0) w.varint(4, <u64>this.lastTs);
    if (this.created) w.varint(5, <u64>this.created);
    if (this.closed) w.varint(6, <u64>this.closed);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 0) { this.entries = r.varint(); return r.ok; }
    if (number == 2 && wire == 0) { this.bytes = r.varint(); return r.ok; }
    if (number == 3 && wire == 0) { this.firstTs = <i64>r.varint(); return r.ok; }
    if (number == 4 && wire == 0) { this.lastTs = <i64>r.varint(); return r.ok; }
    if (number == 5 && wire == 0) { this.created = r.varint() != 0; return r.ok; }
    if (number == 6 && wire == 0) { this.closed = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** A capability that a guest asks for. */
export class Want extends Message {
  /** "sql", … */
  name: string = "";
  /** what of it: for sql the name of a database */
  resource: string = "";
  /** shown to the operator */
  reason: string = "";
  /** the guest does without when it is not granted */
  optional: bool = false;

  encode(w: Writer): void {
    if (this.name.length > 0) w.text(1, this.name);
    if (this.resource.length > 0) w.text(2, this.resource);
    if (this.reason.length > 0) w.text(3, this.reason);
    if (this.optional) w.varint(4, <u64>this.optional);
  }

  protected field(r: Reader, number: u32, wire: u32): bool {
    if (number == 1 && wire == 2) { this.name = r.text(); return r.ok; }
    if (number == 2 && wire == 2) { this.resource = r.text(); return r.ok; }
    if (number == 3 && wire == 2) { this.reason = r.text(); return r.ok; }
    if (number == 4 && wire == 0) { this.optional = r.varint() != 0; return r.ok; }
    return r.skip(wire);
  }
}

/** Makes a message by its name, for tests with the golden vectors; null is a name that this version has not. */
export function messageNamed(name: string): Message | null {
  if (name == "Applied") return new Applied();
  if (name == "AuthHeader") return new AuthHeader();
  if (name == "BatchBytes") return new BatchBytes();
  if (name == "BatchCell") return new BatchCell();
  if (name == "BatchRead") return new BatchRead();
  if (name == "BatchRows") return new BatchRows();
  if (name == "Binding") return new Binding();
  if (name == "BrokerListReply") return new BrokerListReply();
  if (name == "BrokerListRequest") return new BrokerListRequest();
  if (name == "BrokerPatchRequest") return new BrokerPatchRequest();
  if (name == "BrokerRemoveRequest") return new BrokerRemoveRequest();
  if (name == "BrokerResolveReply") return new BrokerResolveReply();
  if (name == "BrokerResolveRequest") return new BrokerResolveRequest();
  if (name == "BrokerSetRequest") return new BrokerSetRequest();
  if (name == "ConfigureReply") return new ConfigureReply();
  if (name == "ConfigureRequest") return new ConfigureRequest();
  if (name == "Count") return new Count();
  if (name == "DeleteReply") return new DeleteReply();
  if (name == "Diagnostic") return new Diagnostic();
  if (name == "Empty") return new Empty();
  if (name == "Environment") return new Environment();
  if (name == "EnvironmentRequest") return new EnvironmentRequest();
  if (name == "Error") return new Error();
  if (name == "FindSandboxRequest") return new FindSandboxRequest();
  if (name == "HTTPField") return new HTTPField();
  if (name == "HTTPHeader") return new HTTPHeader();
  if (name == "HTTPPart") return new HTTPPart();
  if (name == "HTTPReply") return new HTTPReply();
  if (name == "HTTPRequest") return new HTTPRequest();
  if (name == "Head") return new Head();
  if (name == "HealthReply") return new HealthReply();
  if (name == "Instance") return new Instance();
  if (name == "InstanceDeleteIf") return new InstanceDeleteIf();
  if (name == "InstanceListRequest") return new InstanceListRequest();
  if (name == "InstancePutIf") return new InstancePutIf();
  if (name == "KeyRequest") return new KeyRequest();
  if (name == "LastCheckpointRequest") return new LastCheckpointRequest();
  if (name == "LeaseRequest") return new LeaseRequest();
  if (name == "LedgerAppendReply") return new LedgerAppendReply();
  if (name == "LedgerAppendRequest") return new LedgerAppendRequest();
  if (name == "LedgerOpenRequest") return new LedgerOpenRequest();
  if (name == "LedgerReadRequest") return new LedgerReadRequest();
  if (name == "ListSandboxesRequest") return new ListSandboxesRequest();
  if (name == "LockReply") return new LockReply();
  if (name == "LockRequest") return new LockRequest();
  if (name == "LogAppendRequest") return new LogAppendRequest();
  if (name == "LogPage") return new LogPage();
  if (name == "LogReadRequest") return new LogReadRequest();
  if (name == "LogTail") return new LogTail();
  if (name == "Manifest") return new Manifest();
  if (name == "NamedBinding") return new NamedBinding();
  if (name == "PageRequest") return new PageRequest();
  if (name == "ReclaimRequest") return new ReclaimRequest();
  if (name == "Request") return new Request();
  if (name == "RowsReply") return new RowsReply();
  if (name == "RunCreate") return new RunCreate();
  if (name == "RunListRequest") return new RunListRequest();
  if (name == "RunPatch") return new RunPatch();
  if (name == "RunReply") return new RunReply();
  if (name == "RunSecret") return new RunSecret();
  if (name == "SQLExec") return new SQLExec();
  if (name == "SQLExecReply") return new SQLExecReply();
  if (name == "SQLParam") return new SQLParam();
  if (name == "SQLStep") return new SQLStep();
  if (name == "SQLStepResult") return new SQLStepResult();
  if (name == "SandboxCountRequest") return new SandboxCountRequest();
  if (name == "SandboxKey") return new SandboxKey();
  if (name == "SandboxPageRequest") return new SandboxPageRequest();
  if (name == "SandboxRequest") return new SandboxRequest();
  if (name == "SecretGet") return new SecretGet();
  if (name == "SecretKeep") return new SecretKeep();
  if (name == "SecretReply") return new SecretReply();
  if (name == "Source") return new Source();
  if (name == "Stats") return new Stats();
  if (name == "Substitution") return new Substitution();
  if (name == "Usage") return new Usage();
  if (name == "Want") return new Want();
  return null;
}
