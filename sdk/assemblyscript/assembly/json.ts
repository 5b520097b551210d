// As much JSON as a plugin needs: what somebody else wrote, and texts to write.

const MAX_DEPTH = 128;

/** A JSON value that was read. */
export class Json {
  /** Of a string what it says; of numbers, booleans and null what was written. */
  text: string = "";
  isString: bool = false;
  /** Values of an array, or of an object. */
  items: Json[] = [];
  /** Keys of an object, one of each of items. */
  keys: string[] = [];

  /** Reads a document; null is no JSON. */
  static parse(bytes: Uint8Array): Json | null {
    const p = new Parser(bytes), value = p.tree(0);
    p.space();
    return p.at == bytes.length ? value : null;
  }

  /** What is under a key of an object; of a key that comes twice the last counts. */
  get(key: string): Json | null {
    for (let i = this.keys.length - 1; i >= 0; i--) {
      if (this.keys[i] == key) return this.items[i];
    }
    return null;
  }

  /** Whether it is a number without a fraction. */
  get isInteger(): bool {
    if (this.isString || this.text.length == 0 || this.text == "-") return false;
    for (let i = this.text.startsWith("-") ? 1 : 0; i < this.text.length; i++) {
      const c = this.text.charCodeAt(i);
      if (c < 0x30 || c > 0x39) return false;
    }
    return true;
  }
}

/** The string under a key of a JSON object; null when there is no object, no such key or no string. */
export function stringField(json: Uint8Array, key: string): string | null {
  const p = new Parser(json);
  p.wanted = key;
  if (!p.object(0)) return null;
  p.space();
  return p.at == json.length ? p.found : null;
}

class Parser {
  at: i32 = 0;
  wanted: string = "";
  found: string | null = null;
  private text: string = "";

  constructor(private source: Uint8Array) {}

  private get byte(): i32 { return this.at < this.source.length ? <i32>unchecked(this.source[this.at]) : -1; }

  space(): void {
    while (this.byte == 0x20 || (this.byte >= 9 && this.byte <= 13 && this.byte != 11 && this.byte != 12)) this.at++;
  }

  private eat(byte: i32): bool {
    this.space();
    if (this.byte != byte) return false;
    this.at++;
    return true;
  }

  object(depth: i32): bool {
    if (!this.eat(0x7b)) return false;
    if (this.eat(0x7d)) return true;
    while (true) {
      this.space();
      if (!this.string()) return false;
      const mine = depth == 0 && this.text == this.wanted;
      if (!this.eat(0x3a)) return false;
      this.space();
      const isText = this.byte == 0x22;
      if (!this.value(depth + 1)) return false;
      if (mine) this.found = isText ? this.text : null;
      if (!this.eat(0x2c)) return this.eat(0x7d);
    }
  }

  /** Reads a value; null is none. */
  tree(depth: i32): Json | null {
    if (depth == MAX_DEPTH) return null;
    this.space();
    const value = new Json(), first = this.byte;
    if (first == 0x7b || first == 0x5b) {
      const last = first + 2; // } or ]
      this.at++;
      if (this.eat(last)) return value;
      do {
        if (first == 0x7b) {
          this.space();
          if (!this.string()) return null;
          value.keys.push(this.text);
          if (!this.eat(0x3a)) return null;
        }
        const item = this.tree(depth + 1);
        if (item === null) return null;
        value.items.push(item);
      } while (this.eat(0x2c));
      return this.eat(last) ? value : null;
    }
    const start = this.at;
    if (!this.value(depth)) return null;
    value.isString = first == 0x22;
    value.text = value.isString ? this.text : String.UTF8.decodeUnsafe(this.source.dataStart + start, this.at - start);
    return value;
  }

  private value(depth: i32): bool {
    if (depth == MAX_DEPTH) return false;
    this.space();
    if (this.byte == 0x7b) return this.object(depth);
    if (this.byte == 0x22) return this.string();
    if (this.byte == 0x5b) {
      this.at++;
      if (this.eat(0x5d)) return true;
      while (true) {
        if (!this.value(depth + 1)) return false;
        if (!this.eat(0x2c)) return this.eat(0x5d);
      }
    }
    const start = this.at;
    for (; this.byte >= 0; this.at++) {
      const c = this.byte, lower = c | 0x20;
      if (!((lower >= 0x61 && lower <= 0x7a) || (c >= 0x30 && c <= 0x39) || c == 0x2b || c == 0x2d || c == 0x2e)) break;
    }
    return this.at > start;
  }

  /** Reads a string into text. */
  private string(): bool {
    if (this.byte != 0x22) return false;
    this.at++;
    let out = "", from = this.at;
    while (true) {
      const c = this.byte;
      if (c < 0) return false;
      if (c != 0x22 && c != 0x5c) { this.at++; continue; }
      out += String.UTF8.decodeUnsafe(this.source.dataStart + from, this.at - from);
      this.at++;
      if (c == 0x22) { this.text = out; return true; }
      const escape = this.byte;
      this.at++;
      switch (escape) {
        case 0x62: out += "\b"; break;
        case 0x66: out += "\f"; break;
        case 0x6e: out += "\n"; break;
        case 0x72: out += "\r"; break;
        case 0x74: out += "\t"; break;
        case 0x22: case 0x5c: case 0x2f: out += String.fromCharCode(escape); break;
        case 0x75: {
          if (this.at + 4 > this.source.length) return false;
          let n = 0;
          for (let i = 0; i < 4; i++) {
            const d = <i32>unchecked(this.source[this.at++]), lower = d | 0x20;
            if (d >= 0x30 && d <= 0x39) n = n << 4 | (d - 0x30);
            else if (lower >= 0x61 && lower <= 0x66) n = n << 4 | (lower - 0x57);
            else return false;
          }
          out += String.fromCharCode(n); // pairs meet again, as both are UTF-16
          break;
        }
        default: return false;
      }
      from = this.at;
    }
  }
}

/** A text as JSON writes it, with its quotes. */
export function quoted(text: string): string {
  let out = "\"";
  for (let i = 0; i < text.length; i++) {
    const c = text.charCodeAt(i);
    if (c == 0x22 || c == 0x5c) out += "\\" + String.fromCharCode(c);
    else if (c < 0x20) out += "\\u00" + (c < 16 ? "0" : "") + c.toString(16);
    else out += String.fromCharCode(c);
  }
  return out + "\"";
}
