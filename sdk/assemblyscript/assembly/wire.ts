// The wire format of messages: protocol buffers, as far as the ABI uses them (abi/ABI.md, section 3).

import { Value } from "./table";

const MAX_ELEMENTS = 65536;

/** A message of the ABI. */
export abstract class Message {
  /** Writes the canonical encoding. */
  abstract encode(w: Writer): void;

  /** Reads the value of one field; false is bytes that are malformed. */
  protected abstract field(r: Reader, number: u32, wire: u32): bool;

  /** Reads fields into the message: what comes again replaces, messages merge. The empty text is success. */
  decode(bytes: Uint8Array): string {
    const r = new Reader(bytes);
    this.merge(r);
    return r.why;
  }

  merge(r: Reader): bool {
    while (r.ok && r.more) {
      const tag = r.varint();
      const number = tag >> 3;
      if (!r.ok) return false;
      if (number == 0 || number >= 1 << 29) return r.refuse("field number out of range");
      if (!this.field(r, <u32>number, <u32>(tag & 7))) return false;
    }
    return r.ok;
  }

  toBytes(): Uint8Array {
    const w = new Writer();
    this.encode(w);
    return w.finish();
  }
}

/** Reads fields one by one. After something that is malformed, `ok` is false and everything reads as empty. */
export class Reader {
  why: string = "";
  private at: i32 = 0;
  private end: i32;

  constructor(private source: Uint8Array) {
    this.end = source.length;
  }

  get ok(): bool { return this.why.length == 0; }
  get more(): bool { return this.at < this.end; }

  refuse(why: string): bool {
    if (this.ok) this.why = why;
    return false;
  }

  varint(): u64 {
    let value: u64 = 0;
    for (let i = 0; i < 10; i++) {
      if (this.at >= this.end) { this.refuse("it ends too early"); return 0; }
      const byte = unchecked(this.source[this.at++]);
      if (i == 9 && byte > 1) break;
      value |= <u64>(byte & 0x7f) << (7 * i);
      if (byte < 0x80) return value;
    }
    this.refuse("number of more than 64 bits");
    return 0;
  }

  zigzag(): i64 {
    const n = this.varint();
    return <i64>(n >> 1) ^ -<i64>(n & 1);
  }

  /** A copy of some bytes. */
  bytes(): Uint8Array {
    const size = this.varint();
    if (!this.ok || size > <u64>(this.end - this.at)) {
      this.refuse("it ends too early");
      return new Uint8Array(0);
    }
    const from = this.at;
    this.at += <i32>size;
    return this.source.slice(from, this.at);
  }

  text(): string {
    const raw = this.bytes();
    if (!isUTF8(raw)) { this.refuse("string is not UTF-8"); return ""; }
    return String.UTF8.decodeUnsafe(raw.dataStart, raw.length);
  }

  value(): Value {
    const raw = this.bytes();
    if (!this.ok || raw.length == 0) return Value.null();
    const inner = new Reader(raw);
    const value = inner.tagged();
    if (inner.ok && inner.more) inner.refuse("bytes are left over behind the value");
    if (!inner.ok) this.refuse(inner.why);
    return value;
  }

  /** One tagged value. */
  tagged(): Value {
    if (!this.more) { this.refuse("it ends too early"); return Value.null(); }
    const kind = unchecked(this.source[this.at++]);
    const value = new Value(kind);
    if (kind == 1 || kind == 2) {
      if (this.end - this.at < 8) { this.refuse("it ends too early"); return value; }
      if (kind == 1) value.integer = load<i64>(this.source.dataStart + this.at);
      else value.real = load<f64>(this.source.dataStart + this.at);
      this.at += 8;
    } else if (kind == 3) {
      if (!this.more) { this.refuse("it ends too early"); return value; }
      const byte = unchecked(this.source[this.at++]);
      if (byte > 1) this.refuse("bool is neither 0 nor 1");
      value.integer = byte;
    } else if (kind > 3) {
      const size = this.u32();
      if (!this.ok || size > <u32>(this.end - this.at)) { this.refuse("it ends too early"); return value; }
      value.bytes = this.source.slice(this.at, this.at + <i32>size);
      this.at += <i32>size;
    }
    return value;
  }

  u32(): u32 {
    if (this.end - this.at < 4) { this.refuse("it ends too early"); return 0; }
    const value = load<u32>(this.source.dataStart + this.at);
    this.at += 4;
    return value;
  }

  get left(): i32 { return this.end - this.at; }

  message(into: Message): bool {
    const raw = this.bytes();
    if (!this.ok) return false;
    const inner = new Reader(raw);
    return into.merge(inner) || this.refuse(inner.why);
  }

  push<T>(list: Array<T>, element: T): bool {
    if (!this.ok) return false;
    if (list.length == MAX_ELEMENTS) return this.refuse("too many elements");
    list.push(element);
    return true;
  }

  packed(list: Array<u64>): bool {
    const inner = new Reader(this.bytes());
    while (this.ok && inner.ok && inner.more) {
      const element = inner.varint();
      if (inner.ok) this.push<u64>(list, element);
    }
    return (inner.ok || this.refuse(inner.why)) && this.ok;
  }

  entry(map: Map<string, string>): bool {
    const inner = new Reader(this.bytes());
    let key = "", value = "";
    while (this.ok && inner.ok && inner.more) {
      const tag = inner.varint();
      const number = tag >> 3;
      if (!inner.ok) break;
      if (number == 0 || number >= 1 << 29) inner.refuse("field number out of range");
      else if (tag == (1 << 3 | 2)) key = inner.text();
      else if (tag == (2 << 3 | 2)) value = inner.text();
      else inner.skip(<u32>(tag & 7));
    }
    if (!inner.ok) return this.refuse(inner.why);
    if (!this.ok) return false;
    if (map.size == MAX_ELEMENTS && !map.has(key)) return this.refuse("too many elements");
    map.set(key, value);
    return true;
  }

  /** Passes a value that nobody asked for. */
  skip(wire: u32): bool {
    switch (wire) {
      case 0: this.varint(); return this.ok;
      case 1: return this.pass(8);
      case 2: this.bytes(); return this.ok;
      case 5: return this.pass(4);
    }
    return this.refuse("unknown wire type");
  }

  private pass(n: i32): bool {
    if (this.end - this.at < n) return this.refuse("it ends too early");
    this.at += n;
    return true;
  }
}

function isUTF8(b: Uint8Array): bool {
  for (let i = 0; i < b.length; ) {
    const c = unchecked(b[i]);
    const n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
    if (n == 0 || n > b.length - i) return false;
    for (let k = 1; k < n; k++) if ((unchecked(b[i + k]) & 0xc0) != 0x80) return false;
    if (n > 2) {
      const d = unchecked(b[i + 1]);
      if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d >= 0xa0) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d >= 0x90)) return false;
    }
    i += n;
  }
  return true;
}

/** Bytes that grow. */
export class Writer {
  private buffer: Uint8Array = new Uint8Array(256);
  private size: i32 = 0;

  get length(): i32 { return this.size; }

  private room(n: i32): usize {
    if (this.size + n > this.buffer.length) {
      const larger = new Uint8Array(max(2 * this.buffer.length, this.size + n));
      memory.copy(larger.dataStart, this.buffer.dataStart, this.size);
      this.buffer = larger;
    }
    const at = this.buffer.dataStart + this.size;
    this.size += n;
    return at;
  }

  byte(b: u8): void { store<u8>(this.room(1), b); }
  u32(n: u32): void { store<u32>(this.room(4), n); }
  u64(n: u64): void { store<u64>(this.room(8), n); }

  raw(bytes: Uint8Array): void {
    const at = this.room(bytes.length);
    memory.copy(at, bytes.dataStart, bytes.length);
  }

  /** Puts a number over one that was written. */
  patch(at: i32, n: u32): void { store<u32>(this.buffer.dataStart + at, n); }

  number(n: u64): void {
    for (; n >= 0x80; n >>= 7) this.byte(<u8>n | 0x80);
    this.byte(<u8>n);
  }

  varint(number: u32, n: u64): void {
    this.number(<u64>number << 3);
    this.number(n);
  }

  zigzag(number: u32, n: i64): void { this.varint(number, <u64>(n << 1 ^ n >> 63)); }

  bytes(number: u32, bytes: Uint8Array): void {
    this.number(<u64>number << 3 | 2);
    this.number(bytes.length);
    this.raw(bytes);
  }

  text(number: u32, text: string): void { this.bytes(number, utf8(text)); }
  message(number: u32, message: Message): void { this.bytes(number, message.toBytes()); }

  messageUnlessEmpty(number: u32, message: Message): void {
    const bytes = message.toBytes();
    if (bytes.length > 0) this.bytes(number, bytes);
  }

  packed(number: u32, list: Array<u64>): void {
    if (list.length == 0) return;
    const w = new Writer();
    for (let i = 0; i < list.length; i++) w.number(list[i]);
    this.bytes(number, w.finish());
  }

  value(number: u32, value: Value): void {
    if (value.kind == 0) return;
    const w = new Writer();
    w.tagged(value);
    this.bytes(number, w.finish());
  }

  /** Entries are written in the order of their keys' bytes. */
  map(number: u32, map: Map<string, string>): void {
    const keys = map.keys();
    keys.sort((a, b) => compare(utf8(a), utf8(b)));
    for (let i = 0; i < keys.length; i++) {
      const w = new Writer();
      w.text(1, keys[i]);
      w.text(2, map.get(keys[i]));
      this.bytes(number, w.finish());
    }
  }

  tagged(value: Value): void {
    this.byte(value.kind);
    if (value.kind == 1) this.u64(<u64>value.integer);
    else if (value.kind == 2) this.u64(reinterpret<u64>(value.real));
    else if (value.kind == 3) this.byte(value.integer != 0 ? 1 : 0);
    else if (value.kind > 3) {
      this.u32(value.bytes.length);
      this.raw(value.bytes);
    }
  }

  finish(): Uint8Array { return this.buffer.subarray(0, this.size); }
}

/** A text's bytes. */
export function utf8(text: string): Uint8Array { return Uint8Array.wrap(String.UTF8.encode(text)); }

/** Which of two comes first, byte by byte. */
export function compare(a: Uint8Array, b: Uint8Array): i32 {
  const order = memory.compare(a.dataStart, b.dataStart, min(a.length, b.length));
  return order != 0 ? order : a.length - b.length;
}
