// Written by internal/sdkgen from abi/. Do not edit.

import * as m from "./messages";
import { Message, Writer } from "./wire";
import { fail, unsupported } from "./error";

/** Numbers of operations: of a guest below 0x1000, of the host from there on. */
export namespace Op {
  export const DESCRIBE: u32 = 0x01;
  export const CONFIGURE: u32 = 0x02;
  export const CLOSE: u32 = 0x03;
  export const HEALTH: u32 = 0x04;
  export const ECHO: u32 = 0x05;
  export const LEDGER_OPEN: u32 = 0x10;
  export const LEDGER_APPEND: u32 = 0x11;
  export const LEDGER_READ: u32 = 0x12;
  export const LEDGER_LAST_CHECKPOINT: u32 = 0x13;
  export const LEDGER_LIST_CHECKPOINTS: u32 = 0x14;
  export const LEDGER_LIST_SANDBOXES: u32 = 0x15;
  export const LEDGER_GET_SANDBOX: u32 = 0x16;
  export const LEDGER_FIND_SANDBOX: u32 = 0x17;
  export const LEDGER_DELETE_SANDBOX: u32 = 0x18;
  export const LEDGER_LIST_HEADS: u32 = 0x19;
  export const LEDGER_LIST_SEGMENTS: u32 = 0x1a;
  export const LEDGER_LIST_TOMBSTONES: u32 = 0x1b;
  export const LEDGER_USAGE: u32 = 0x1c;
  export const LEDGER_STATS: u32 = 0x1d;
  export const ENVIRONMENT_GET: u32 = 0x20;
  export const ENVIRONMENT_SAVE: u32 = 0x21;
  export const ENVIRONMENT_DELETE: u32 = 0x22;
  export const ENVIRONMENT_LIST: u32 = 0x23;
  export const INSTANCES_GET: u32 = 0x30;
  export const INSTANCES_PUT: u32 = 0x31;
  export const INSTANCES_DELETE: u32 = 0x32;
  export const INSTANCES_PUT_IF: u32 = 0x33;
  export const INSTANCES_DELETE_IF: u32 = 0x34;
  export const INSTANCES_LIST: u32 = 0x35;
  export const RUNS_CREATE_OR_GET: u32 = 0x40;
  export const RUNS_PATCH: u32 = 0x41;
  export const RUNS_GET: u32 = 0x42;
  export const RUNS_FIND_ACTIVE: u32 = 0x43;
  export const RUNS_PATCH_IF: u32 = 0x44;
  export const RUNS_CLAIM: u32 = 0x45;
  export const RUNS_LIST_BY_THREAD: u32 = 0x46;
  export const RUNS_LIST: u32 = 0x47;
  export const RUNS_LIST_RECLAIMABLE: u32 = 0x48;
  export const RUNS_COUNT_BY_SANDBOX: u32 = 0x49;
  export const RUNS_SECRET: u32 = 0x4a;
  export const RUNS_DELETE: u32 = 0x4b;
  export const LOG_APPEND: u32 = 0x50;
  export const LOG_READ: u32 = 0x51;
  export const LOG_CLOSE: u32 = 0x52;
  export const LOG_TRUNCATE: u32 = 0x53;
  export const LOCKS_TRY_ACQUIRE: u32 = 0x60;
  export const LOCKS_RENEW: u32 = 0x61;
  export const LOCKS_RELEASE: u32 = 0x62;
  export const BROKER_SET: u32 = 0x70;
  export const BROKER_PATCH: u32 = 0x71;
  export const BROKER_REMOVE: u32 = 0x72;
  export const BROKER_LIST_BINDINGS: u32 = 0x73;
  export const BROKER_RESOLVE: u32 = 0x74;
  export const SQL_EXEC: u32 = 0x1000;
  export const BATCH_READ: u32 = 0x1010;
  export const BATCH_CELL: u32 = 0x1011;
  export const HTTP_SEND: u32 = 0x1020;
  export const SECRET_GET: u32 = 0x1030;
  export const SECRET_KEEP: u32 = 0x1031;
}

/** Columns of the entries batch of LedgerAppend. */
export namespace EntryColumn {
  /** i64, index into the segments batch */
  export const SEGMENT: i32 = 0;
  /** text */
  export const SANDBOX_ID: i32 = 1;
  /** text */
  export const NAME: i32 = 2;
  /** i64 */
  export const STEP: i32 = 3;
  /** i64 or null */
  export const BRANCH: i32 = 4;
  /** text */
  export const EVENT: i32 = 5;
  /** json or null */
  export const PAYLOAD: i32 = 6;
  /** text or null */
  export const ERROR: i32 = 7;
  /** i64, Unix milliseconds */
  export const TS: i32 = 8;
  /** How many columns there are. */
  export const COLUMNS: i32 = 9;
}

/** Columns of the segments batch of LedgerAppend. */
export namespace SegmentColumn {
  /** text */
  export const SANDBOX_ID: i32 = 0;
  /** text */
  export const NAME: i32 = 1;
  /** i64, the claim that it is written under */
  export const EPOCH: i32 = 2;
  /** blob, hash of the segment before it, empty for the first */
  export const PREVIOUS: i32 = 3;
  /** blob, 16 random bytes */
  export const ID: i32 = 4;
  /** blob, 32 bytes */
  export const HASH: i32 = 5;
  /** blob, 32 bytes an entry */
  export const LEAVES: i32 = 6;
  /** i64, entries in it */
  export const COUNT: i32 = 7;
  /** i64, entries of the batch that follow its last one */
  export const AFTER: i32 = 8;
  /** i64, highest ts in it */
  export const MAX_TS: i32 = 9;
  /** How many columns there are. */
  export const COLUMNS: i32 = 10;
}

/** Columns of the pages of LedgerRead and LedgerLastCheckpoint. */
export namespace RowColumn {
  export const ID: i32 = 0;
  export const SANDBOX_ID: i32 = 1;
  export const NAME: i32 = 2;
  export const STEP: i32 = 3;
  export const BRANCH: i32 = 4;
  export const EVENT: i32 = 5;
  export const PAYLOAD: i32 = 6;
  export const ERROR: i32 = 7;
  export const TS: i32 = 8;
  /** How many columns there are. */
  export const COLUMNS: i32 = 9;
}

/** Columns of the pages of LedgerListSandboxes, LedgerGetSandbox and LedgerFindSandbox. */
export namespace SandboxColumn {
  export const NAME: i32 = 0;
  export const ID: i32 = 1;
  /** text, "running" or "completed" */
  export const STATUS: i32 = 2;
  /** i64, Unix milliseconds */
  export const STARTED: i32 = 3;
  /** i64 or null */
  export const COMPLETED: i32 = 4;
  /** i64 */
  export const EXECS: i32 = 5;
  /** text */
  export const RUN_ID: i32 = 6;
  /** text or null */
  export const RESOURCE: i32 = 7;
  /** text or null */
  export const TEAM: i32 = 8;
  /** text or null */
  export const PARENT: i32 = 9;
  /** i64, id of the entry that started is of */
  export const CREATED_ID: i32 = 10;
  /** How many columns there are. */
  export const COLUMNS: i32 = 11;
}

/** Columns of the pages of LedgerListCheckpoints. */
export namespace CheckpointColumn {
  /** text */
  export const SNAPSHOT: i32 = 0;
  /** text or null */
  export const TAG: i32 = 1;
  /** i64, Unix milliseconds */
  export const CREATED: i32 = 2;
  /** i64, id of the entry */
  export const ID: i32 = 3;
  /** How many columns there are. */
  export const COLUMNS: i32 = 4;
}

/** Columns of the page of EnvironmentList. */
export namespace EnvironmentColumn {
  export const NAME: i32 = 0;
  export const SNAPSHOT: i32 = 1;
  export const IMAGE: i32 = 2;
  export const BUILT: i32 = 3;
  /** How many columns there are. */
  export const COLUMNS: i32 = 4;
}

/** Columns of the pages of LedgerListHeads. */
export namespace HeadColumn {
  /** text */
  export const NAME: i32 = 0;
  /** text */
  export const SANDBOX_ID: i32 = 1;
  /** i64, 0 when nobody claimed it */
  export const EPOCH: i32 = 2;
  /** blob, of the last segment, empty when there is none */
  export const HASH: i32 = 3;
  /** blob, of the last segment, empty when there is none */
  export const SEGMENT_ID: i32 = 4;
  /** i64, that segments hold */
  export const ENTRIES: i32 = 5;
  /** i64, Unix milliseconds, of entries that segments hold */
  export const MAX_TS: i32 = 6;
  /** How many columns there are. */
  export const COLUMNS: i32 = 7;
}

/** Columns of the pages of LedgerListSegments. */
export namespace StoredColumn {
  /** i64, of its first entry */
  export const FIRST_ID: i32 = 0;
  /** i64, of its last entry */
  export const LAST_ID: i32 = 1;
  /** blob, 16 bytes */
  export const ID: i32 = 2;
  /** blob, 32 bytes, empty for the first */
  export const PREVIOUS: i32 = 3;
  /** blob, 32 bytes */
  export const HASH: i32 = 4;
  /** blob, 32 bytes an entry */
  export const LEAVES: i32 = 5;
  /** How many columns there are. */
  export const COLUMNS: i32 = 6;
}

/** Columns of the pages of LedgerListTombstones. */
export namespace TombstoneColumn {
  /** text */
  export const NAME: i32 = 0;
  /** text */
  export const SANDBOX_ID: i32 = 1;
  /** i64, that went, over all deletions */
  export const ENTRIES: i32 = 2;
  /** blob, of the last segment, empty when there was none */
  export const HASH: i32 = 3;
  /** i64, Unix milliseconds */
  export const DELETED: i32 = 4;
  /** How many columns there are. */
  export const COLUMNS: i32 = 5;
}

/** Columns of the batch of LogAppend. */
export namespace LogEventColumn {
  /** text */
  export const RUN: i32 = 0;
  /** text */
  export const KIND: i32 = 1;
  /** blob */
  export const DATA: i32 = 2;
  /** i64, events of the batch that follow it */
  export const BEHIND: i32 = 3;
  /** How many columns there are. */
  export const COLUMNS: i32 = 4;
}

/** Columns of the pages of LogRead. */
export namespace LogColumn {
  /** i64, from 1 */
  export const OFFSET: i32 = 0;
  /** i64, the store's clock, Unix milliseconds */
  export const TS: i32 = 1;
  /** text */
  export const KIND: i32 = 2;
  /** blob */
  export const DATA: i32 = 3;
  /** How many columns there are. */
  export const COLUMNS: i32 = 4;
}

/** Columns of the pages of InstancesGet and InstancesList. */
export namespace InstanceColumn {
  /** text */
  export const KEY: i32 = 0;
  /** text */
  export const PROVIDER: i32 = 1;
  /** text, the provider's */
  export const SANDBOX_ID: i32 = 2;
  /** text or null */
  export const SNAPSHOT: i32 = 3;
  /** text */
  export const THREAD: i32 = 4;
  /** text or null */
  export const RUN: i32 = 5;
  /** i64, Unix milliseconds */
  export const UPDATED: i32 = 6;
  /** How many columns there are. */
  export const COLUMNS: i32 = 7;
}

/** Columns of a run, in every page of the runs group. */
export namespace RunColumn {
  /** text */
  export const ID: i32 = 0;
  /** text */
  export const THREAD: i32 = 1;
  /** text */
  export const STATUS: i32 = 2;
  /** i64, Unix milliseconds */
  export const STARTED: i32 = 3;
  /** i64 or null */
  export const FINISHED: i32 = 4;
  /** text or null */
  export const ERROR_MESSAGE: i32 = 5;
  /** text or null */
  export const ERROR_CODE: i32 = 6;
  /** text or null, JSON */
  export const USAGE: i32 = 7;
  /** text or null */
  export const SANDBOX_KEY: i32 = 8;
  /** i64 or null */
  export const DETACHED: i32 = 9;
  /** i64, 0 or 1, or null */
  export const CANCEL_REQUESTED: i32 = 10;
  /** i64 or null */
  export const DRIVER_EPOCH: i32 = 11;
  /** How many columns there are. */
  export const COLUMNS: i32 = 12;
}

/** What a plugin is. An operation returns its reply, or null after fail(…); what is not overridden answers
 * unsupported. The manifest must declare what the plugin has: abi/ABI.md says what each operation must do. */
export abstract class Plugin {
  /** Says what the plugin is, the same every time. */
  abstract manifest(): m.Manifest;

  /** Takes the configuration, a JSON object. Diagnostics in the reply refuse it key by key. */
  configure(request: m.ConfigureRequest): m.ConfigureReply | null { return new m.ConfigureReply(); }
  /** Says in a sentence how the plugin is. */
  health(): m.HealthReply | null { return new m.HealthReply(); }
  /** Releases what the plugin holds outside. No call follows it. */
  close(): m.Empty | null { return new m.Empty(); }
  /** ledger.open */
  ledgerOpen(request: m.LedgerOpenRequest): m.Head | null { unsupported("ledger.open"); return null; }
  /** ledger.append */
  ledgerAppend(request: m.LedgerAppendRequest): m.LedgerAppendReply | null { unsupported("ledger.append"); return null; }
  /** ledger.read */
  ledgerRead(request: m.LedgerReadRequest): m.RowsReply | null { unsupported("ledger.read"); return null; }
  /** ledger.last_checkpoint */
  ledgerLastCheckpoint(request: m.LastCheckpointRequest): m.RowsReply | null { unsupported("ledger.last_checkpoint"); return null; }
  /** ledger.list_checkpoints */
  ledgerListCheckpoints(request: m.SandboxPageRequest): m.RowsReply | null { unsupported("ledger.list_checkpoints"); return null; }
  /** ledger.list_sandboxes */
  ledgerListSandboxes(request: m.ListSandboxesRequest): m.RowsReply | null { unsupported("ledger.list_sandboxes"); return null; }
  /** ledger.get_sandbox */
  ledgerGetSandbox(request: m.SandboxRequest): m.RowsReply | null { unsupported("ledger.get_sandbox"); return null; }
  /** ledger.find_sandbox */
  ledgerFindSandbox(request: m.FindSandboxRequest): m.RowsReply | null { unsupported("ledger.find_sandbox"); return null; }
  /** ledger.delete_sandbox */
  ledgerDeleteSandbox(request: m.SandboxRequest): m.DeleteReply | null { unsupported("ledger.delete_sandbox"); return null; }
  /** ledger.list_heads */
  ledgerListHeads(request: m.PageRequest): m.RowsReply | null { unsupported("ledger.list_heads"); return null; }
  /** ledger.list_segments */
  ledgerListSegments(request: m.SandboxPageRequest): m.RowsReply | null { unsupported("ledger.list_segments"); return null; }
  /** ledger.list_tombstones */
  ledgerListTombstones(request: m.PageRequest): m.RowsReply | null { unsupported("ledger.list_tombstones"); return null; }
  /** ledger.usage */
  ledgerUsage(request: m.SandboxRequest): m.Usage | null { unsupported("ledger.usage"); return null; }
  /** ledger.stats */
  ledgerStats(): m.Stats | null { unsupported("ledger.stats"); return null; }
  /** environment.get */
  environmentGet(request: m.EnvironmentRequest): m.Environment | null { unsupported("environment.get"); return null; }
  /** environment.save */
  environmentSave(request: m.Environment): m.Empty | null { unsupported("environment.save"); return null; }
  /** environment.delete */
  environmentDelete(request: m.EnvironmentRequest): m.Empty | null { unsupported("environment.delete"); return null; }
  /** environment.list */
  environmentList(): m.RowsReply | null { unsupported("environment.list"); return null; }
  /** instances.get */
  instancesGet(request: m.KeyRequest): m.RowsReply | null { unsupported("instances.get"); return null; }
  /** instances.put */
  instancesPut(request: m.Instance): m.Empty | null { unsupported("instances.put"); return null; }
  /** instances.delete */
  instancesDelete(request: m.KeyRequest): m.Empty | null { unsupported("instances.delete"); return null; }
  /** instances.put_if */
  instancesPutIf(request: m.InstancePutIf): m.Applied | null { unsupported("instances.put_if"); return null; }
  /** instances.delete_if */
  instancesDeleteIf(request: m.InstanceDeleteIf): m.Applied | null { unsupported("instances.delete_if"); return null; }
  /** instances.list */
  instancesList(request: m.InstanceListRequest): m.RowsReply | null { unsupported("instances.list"); return null; }
  /** runs.create_or_get */
  runsCreateOrGet(request: m.RunCreate): m.RunReply | null { unsupported("runs.create_or_get"); return null; }
  /** runs.patch */
  runsPatch(request: m.RunPatch): m.RunReply | null { unsupported("runs.patch"); return null; }
  /** runs.get */
  runsGet(request: m.KeyRequest): m.RowsReply | null { unsupported("runs.get"); return null; }
  /** runs.find_active */
  runsFindActive(request: m.KeyRequest): m.RowsReply | null { unsupported("runs.find_active"); return null; }
  /** runs.patch_if */
  runsPatchIf(request: m.RunPatch): m.RunReply | null { unsupported("runs.patch_if"); return null; }
  /** runs.claim */
  runsClaim(request: m.KeyRequest): m.RunReply | null { unsupported("runs.claim"); return null; }
  /** runs.list_by_thread */
  runsListByThread(request: m.RunListRequest): m.RowsReply | null { unsupported("runs.list_by_thread"); return null; }
  /** runs.list */
  runsList(request: m.RunListRequest): m.RowsReply | null { unsupported("runs.list"); return null; }
  /** runs.list_reclaimable */
  runsListReclaimable(request: m.ReclaimRequest): m.RowsReply | null { unsupported("runs.list_reclaimable"); return null; }
  /** runs.count_by_sandbox */
  runsCountBySandbox(request: m.SandboxCountRequest): m.Count | null { unsupported("runs.count_by_sandbox"); return null; }
  /** runs.secret */
  runsSecret(request: m.KeyRequest): m.RunSecret | null { unsupported("runs.secret"); return null; }
  /** runs.delete */
  runsDelete(request: m.KeyRequest): m.RunReply | null { unsupported("runs.delete"); return null; }
  /** log.append */
  logAppend(request: m.LogAppendRequest): m.LogTail | null { unsupported("log.append"); return null; }
  /** log.read */
  logRead(request: m.LogReadRequest): m.LogPage | null { unsupported("log.read"); return null; }
  /** log.close */
  logClose(request: m.KeyRequest): m.Empty | null { unsupported("log.close"); return null; }
  /** log.truncate */
  logTruncate(request: m.KeyRequest): m.DeleteReply | null { unsupported("log.truncate"); return null; }
  /** locks.try_acquire */
  locksTryAcquire(request: m.LockRequest): m.LockReply | null { unsupported("locks.try_acquire"); return null; }
  /** locks.renew */
  locksRenew(request: m.LeaseRequest): m.Applied | null { unsupported("locks.renew"); return null; }
  /** locks.release */
  locksRelease(request: m.LeaseRequest): m.Applied | null { unsupported("locks.release"); return null; }
  /** broker.set */
  brokerSet(request: m.BrokerSetRequest): m.Empty | null { unsupported("broker.set"); return null; }
  /** broker.patch */
  brokerPatch(request: m.BrokerPatchRequest): m.Empty | null { unsupported("broker.patch"); return null; }
  /** broker.remove */
  brokerRemove(request: m.BrokerRemoveRequest): m.Empty | null { unsupported("broker.remove"); return null; }
  /** broker.list_bindings */
  brokerListBindings(request: m.BrokerListRequest): m.BrokerListReply | null { unsupported("broker.list_bindings"); return null; }
  /** broker.resolve */
  brokerResolve(request: m.BrokerResolveRequest): m.BrokerResolveReply | null { unsupported("broker.resolve"); return null; }
}

function put(reply: Message | null, out: Writer): bool {
  if (reply === null) return false;
  (reply as Message).encode(out);
  return true;
}

function decode(request: Message, body: Uint8Array): bool {
  const why = request.decode(body);
  if (why.length == 0) return true;
  fail(m.Code.INVALID, "malformed message: " + why);
  return false;
}

/** Runs one operation; false is an error, which fail has noted. */
export function dispatch(p: Plugin, op: u32, body: Uint8Array, out: Writer): bool {
  switch (op) {
    case Op.DESCRIBE: return put(p.manifest(), out);
    case Op.CONFIGURE: {
      const request = new m.ConfigureRequest();
      return decode(request, body) && put(p.configure(request), out);
    }
    case Op.CLOSE: return put(p.close(), out);
    case Op.HEALTH: return put(p.health(), out);
    case Op.ECHO: out.raw(body); return true;
    case Op.LEDGER_OPEN: {
      const request = new m.LedgerOpenRequest();
      return decode(request, body) && put(p.ledgerOpen(request), out);
    }
    case Op.LEDGER_APPEND: {
      const request = new m.LedgerAppendRequest();
      return decode(request, body) && put(p.ledgerAppend(request), out);
    }
    case Op.LEDGER_READ: {
      const request = new m.LedgerReadRequest();
      return decode(request, body) && put(p.ledgerRead(request), out);
    }
    case Op.LEDGER_LAST_CHECKPOINT: {
      const request = new m.LastCheckpointRequest();
      return decode(request, body) && put(p.ledgerLastCheckpoint(request), out);
    }
    case Op.LEDGER_LIST_CHECKPOINTS: {
      const request = new m.SandboxPageRequest();
      return decode(request, body) && put(p.ledgerListCheckpoints(request), out);
    }
    case Op.LEDGER_LIST_SANDBOXES: {
      const request = new m.ListSandboxesRequest();
      return decode(request, body) && put(p.ledgerListSandboxes(request), out);
    }
    case Op.LEDGER_GET_SANDBOX: {
      const request = new m.SandboxRequest();
      return decode(request, body) && put(p.ledgerGetSandbox(request), out);
    }
    case Op.LEDGER_FIND_SANDBOX: {
      const request = new m.FindSandboxRequest();
      return decode(request, body) && put(p.ledgerFindSandbox(request), out);
    }
    case Op.LEDGER_DELETE_SANDBOX: {
      const request = new m.SandboxRequest();
      return decode(request, body) && put(p.ledgerDeleteSandbox(request), out);
    }
    case Op.LEDGER_LIST_HEADS: {
      const request = new m.PageRequest();
      return decode(request, body) && put(p.ledgerListHeads(request), out);
    }
    case Op.LEDGER_LIST_SEGMENTS: {
      const request = new m.SandboxPageRequest();
      return decode(request, body) && put(p.ledgerListSegments(request), out);
    }
    case Op.LEDGER_LIST_TOMBSTONES: {
      const request = new m.PageRequest();
      return decode(request, body) && put(p.ledgerListTombstones(request), out);
    }
    case Op.LEDGER_USAGE: {
      const request = new m.SandboxRequest();
      return decode(request, body) && put(p.ledgerUsage(request), out);
    }
    case Op.LEDGER_STATS: return put(p.ledgerStats(), out);
    case Op.ENVIRONMENT_GET: {
      const request = new m.EnvironmentRequest();
      return decode(request, body) && put(p.environmentGet(request), out);
    }
    case Op.ENVIRONMENT_SAVE: {
      const request = new m.Environment();
      return decode(request, body) && put(p.environmentSave(request), out);
    }
    case Op.ENVIRONMENT_DELETE: {
      const request = new m.EnvironmentRequest();
      return decode(request, body) && put(p.environmentDelete(request), out);
    }
    case Op.ENVIRONMENT_LIST: return put(p.environmentList(), out);
    case Op.INSTANCES_GET: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.instancesGet(request), out);
    }
    case Op.INSTANCES_PUT: {
      const request = new m.Instance();
      return decode(request, body) && put(p.instancesPut(request), out);
    }
    case Op.INSTANCES_DELETE: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.instancesDelete(request), out);
    }
    case Op.INSTANCES_PUT_IF: {
      const request = new m.InstancePutIf();
      return decode(request, body) && put(p.instancesPutIf(request), out);
    }
    case Op.INSTANCES_DELETE_IF: {
      const request = new m.InstanceDeleteIf();
      return decode(request, body) && put(p.instancesDeleteIf(request), out);
    }
    case Op.INSTANCES_LIST: {
      const request = new m.InstanceListRequest();
      return decode(request, body) && put(p.instancesList(request), out);
    }
    case Op.RUNS_CREATE_OR_GET: {
      const request = new m.RunCreate();
      return decode(request, body) && put(p.runsCreateOrGet(request), out);
    }
    case Op.RUNS_PATCH: {
      const request = new m.RunPatch();
      return decode(request, body) && put(p.runsPatch(request), out);
    }
    case Op.RUNS_GET: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.runsGet(request), out);
    }
    case Op.RUNS_FIND_ACTIVE: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.runsFindActive(request), out);
    }
    case Op.RUNS_PATCH_IF: {
      const request = new m.RunPatch();
      return decode(request, body) && put(p.runsPatchIf(request), out);
    }
    case Op.RUNS_CLAIM: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.runsClaim(request), out);
    }
    case Op.RUNS_LIST_BY_THREAD: {
      const request = new m.RunListRequest();
      return decode(request, body) && put(p.runsListByThread(request), out);
    }
    case Op.RUNS_LIST: {
      const request = new m.RunListRequest();
      return decode(request, body) && put(p.runsList(request), out);
    }
    case Op.RUNS_LIST_RECLAIMABLE: {
      const request = new m.ReclaimRequest();
      return decode(request, body) && put(p.runsListReclaimable(request), out);
    }
    case Op.RUNS_COUNT_BY_SANDBOX: {
      const request = new m.SandboxCountRequest();
      return decode(request, body) && put(p.runsCountBySandbox(request), out);
    }
    case Op.RUNS_SECRET: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.runsSecret(request), out);
    }
    case Op.RUNS_DELETE: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.runsDelete(request), out);
    }
    case Op.LOG_APPEND: {
      const request = new m.LogAppendRequest();
      return decode(request, body) && put(p.logAppend(request), out);
    }
    case Op.LOG_READ: {
      const request = new m.LogReadRequest();
      return decode(request, body) && put(p.logRead(request), out);
    }
    case Op.LOG_CLOSE: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.logClose(request), out);
    }
    case Op.LOG_TRUNCATE: {
      const request = new m.KeyRequest();
      return decode(request, body) && put(p.logTruncate(request), out);
    }
    case Op.LOCKS_TRY_ACQUIRE: {
      const request = new m.LockRequest();
      return decode(request, body) && put(p.locksTryAcquire(request), out);
    }
    case Op.LOCKS_RENEW: {
      const request = new m.LeaseRequest();
      return decode(request, body) && put(p.locksRenew(request), out);
    }
    case Op.LOCKS_RELEASE: {
      const request = new m.LeaseRequest();
      return decode(request, body) && put(p.locksRelease(request), out);
    }
    case Op.BROKER_SET: {
      const request = new m.BrokerSetRequest();
      return decode(request, body) && put(p.brokerSet(request), out);
    }
    case Op.BROKER_PATCH: {
      const request = new m.BrokerPatchRequest();
      return decode(request, body) && put(p.brokerPatch(request), out);
    }
    case Op.BROKER_REMOVE: {
      const request = new m.BrokerRemoveRequest();
      return decode(request, body) && put(p.brokerRemove(request), out);
    }
    case Op.BROKER_LIST_BINDINGS: {
      const request = new m.BrokerListRequest();
      return decode(request, body) && put(p.brokerListBindings(request), out);
    }
    case Op.BROKER_RESOLVE: {
      const request = new m.BrokerResolveRequest();
      return decode(request, body) && put(p.brokerResolve(request), out);
    }
  }
  unsupported("of this number");
  return false;
}
