// Tables: batches of typed rows (abi/ABI.md, section 5).

import { Reader, Writer, utf8 } from "./wire";

/** Kinds of values. Larger ones are of a later version: they have bytes, and are passed over. */
export namespace Kind {
  export const NULL: u8 = 0;
  export const I64: u8 = 1;
  export const F64: u8 = 2;
  export const BOOL: u8 = 3;
  export const TEXT: u8 = 4;
  export const JSON: u8 = 5;
  export const BLOB: u8 = 6;
}

/** One typed value: integer is for i64 and bool, bytes for text, JSON and blobs. */
export class Value {
  integer: i64 = 0;
  real: f64 = 0;
  bytes: Uint8Array = new Uint8Array(0);

  constructor(public kind: u8) {}

  static null(): Value { return new Value(Kind.NULL); }

  static i64(n: i64): Value {
    const value = new Value(Kind.I64);
    value.integer = n;
    return value;
  }

  static text(text: string): Value { return Value.of(Kind.TEXT, utf8(text)); }
  static json(bytes: Uint8Array): Value { return Value.of(Kind.JSON, bytes); }
  static blob(bytes: Uint8Array): Value { return Value.of(Kind.BLOB, bytes); }

  private static of(kind: u8, bytes: Uint8Array): Value {
    const value = new Value(kind);
    value.bytes = bytes;
    return value;
  }

  get isNull(): bool { return this.kind == Kind.NULL; }

  /** The text of a text or JSON value; empty for others. */
  get asText(): string {
    if (this.kind != Kind.TEXT && this.kind != Kind.JSON) return "";
    return String.UTF8.decodeUnsafe(this.bytes.dataStart, this.bytes.length);
  }
}

const MAX_COLUMNS: u32 = 32767;

/** Rows that were read. */
export class Table {
  columns: i32 = 0;
  rows: Array<Array<Value>> = [];
  /** Why the bytes are no table; empty when they are one. */
  why: string = "";

  /** Reads a table; no bytes are one without rows. */
  static decode(bytes: Uint8Array): Table {
    return bytes.length == 0 ? new Table() : Table.strict(bytes);
  }

  /** Reads a table whose header must be there. */
  static strict(bytes: Uint8Array): Table {
    const table = new Table(), r = new Reader(bytes);
    const rows = r.u32(), columns = r.u32();
    if (r.ok && columns > MAX_COLUMNS) r.refuse("too many columns");
    if (r.ok && rows > 0 && columns == 0) r.refuse("rows without columns");
    // Each value has a byte at least: nothing is allocated for what can't be there.
    if (r.ok && <u64>rows * <u64>columns > <u64>r.left) r.refuse("it ends too early");
    table.columns = <i32>columns;
    for (let i: u32 = 0; r.ok && i < rows; i++) {
      const row = new Array<Value>();
      for (let k: u32 = 0; r.ok && k < columns; k++) row.push(r.tagged());
      table.rows.push(row);
    }
    if (r.ok && r.more) r.refuse("bytes are left over behind the last row");
    table.why = r.why;
    return table;
  }
}

/** Writes a table row by row. */
export class TableWriter {
  private out: Writer = new Writer();
  private rows: u32 = 0;

  constructor(private columns: i32) {
    this.out.u32(0);
    this.out.u32(<u32>columns);
  }

  /** Adds a row, which has as many values as there are columns. */
  row(values: Array<Value>): void {
    assert(values.length == this.columns, "a row has other columns than its table");
    for (let i = 0; i < values.length; i++) this.out.tagged(values[i]);
    this.rows++;
  }

  finish(): Uint8Array {
    this.out.patch(0, this.rows);
    return this.out.finish();
  }
}
