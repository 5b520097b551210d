// A module for the golden vectors of the ABI: what it decodes it encodes again.

import { Manifest, Plugin, Table, TableWriter, Writer, serve } from "../assembly";
import { messageNamed } from "../assembly/messages";
import { alineo_buffer as requestBuffer } from "../assembly/guest";

export { alineo_abi_v1, alineo_buffer, alineo_call } from "../assembly/guest";

class Vectors extends Plugin {
  manifest(): Manifest {
    const m = new Manifest();
    m.name = "vectors";
    m.version = "1.0.0";
    return m;
  }
}

serve(new Vectors());

let answer = new Uint8Array(0);

/** Reads a name, a NUL and bytes from the buffer. The answer's first byte is 0, and the encoding follows; 1, the
 * bytes were refused; or 2, the name is unknown. */
export function recode(size: i32): u64 {
  const at = requestBuffer(size);
  let end = 0;
  while (end < size && load<u8>(at + end) != 0) end++;
  const name = String.UTF8.decodeUnsafe(at, end);
  const bytes = new Uint8Array(max(size - end - 1, 0));
  memory.copy(bytes.dataStart, at + end + 1, bytes.length);
  const out = new Writer();
  out.byte(0);
  answer = run(name, bytes, out);
  return <u64>answer.dataStart << 32 | <u64>answer.length;
}

function status(n: u8): Uint8Array {
  const out = new Writer();
  out.byte(n);
  return out.finish();
}

function run(name: string, bytes: Uint8Array, out: Writer): Uint8Array {
  if (name == "table") {
    const table = Table.strict(bytes);
    if (table.why.length > 0) return status(1);
    const writer = new TableWriter(table.columns);
    for (let i = 0; i < table.rows.length; i++) writer.row(table.rows[i]);
    out.raw(writer.finish());
    return out.finish();
  }
  const message = messageNamed(name);
  if (message === null) return status(2);
  if (message.decode(bytes).length > 0) return status(1);
  message.encode(out);
  return out.finish();
}
