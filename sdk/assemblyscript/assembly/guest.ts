// The guest's side of a call. A plugin's entry file calls serve with its one value, and exports what is here:
//
//   export { alineo_abi_v1, alineo_buffer, alineo_call } from "…/guest";

import { Code, Request } from "./messages";
import { Plugin, dispatch } from "./ops";
import { Writer } from "./wire";
import { fail, takeError } from "./error";
import { log, Level } from "./host";

let plugin: Plugin | null = null;
let buffer = new Uint8Array(4096);
let response = new Uint8Array(0);

/** Bytes that calls have moved since memory was collected last. Nothing collects on its own here: the host
 * decides when a plugin works, and between two calls nothing of the last one is needed. */
let moved: usize = 0;
const COLLECT_AFTER: usize = 1 << 20;

/** Makes a value the plugin that this module is. */
export function serve(p: Plugin): void { plugin = p; }

export function alineo_abi_v1(): void {}

export function alineo_buffer(size: usize): usize {
  if (<usize>buffer.length < size) buffer = new Uint8Array(<i32>size);
  return buffer.dataStart;
}

export function alineo_call(op: u32, size: usize): u64 {
  moved += size + <usize>response.length + 4096;
  if (moved > COLLECT_AFTER) {
    moved = 0;
    response = new Uint8Array(0);
    __collect();
  }
  const out = new Writer();
  out.byte(0);
  if (!answer(op, size, out)) {
    const failed = new Writer();
    failed.byte(1);
    takeError().encode(failed);
    response = failed.finish();
  } else {
    response = out.finish();
  }
  return <u64>response.dataStart << 32 | <u64>response.length;
}

function answer(op: u32, size: usize, out: Writer): bool {
  const envelope = new Request();
  if (size > <usize>buffer.length) {
    fail(Code.INVALID, "the request is longer than the buffer");
    return false;
  }
  const why = envelope.decode(buffer.subarray(0, <i32>size));
  if (why.length > 0) {
    fail(Code.INVALID, "malformed message: " + why);
    return false;
  }
  const p = plugin;
  if (p === null) {
    fail(Code.INTERNAL, "the plugin's entry file did not call serve");
    return false;
  }
  return dispatch(p, op, envelope.body, out);
}

/** What is run in the place of AssemblyScript's abort: it says why, and ends the instance. */
export function abort(message: string | null, file: string | null, line: u32, column: u32): void {
  const text = message === null ? "abort" : message;
  const where = file === null ? "" : " (" + file + ":" + line.toString() + ")";
  log(Level.ERROR, text + where);
  unreachable();
}
