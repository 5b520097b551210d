// Requests through the host, and secrets, which stay there.

import { Code, Empty, HTTPHeader, HTTPPart, HTTPReply, HTTPRequest, PartEncoding, SecretGet, SecretKeep, SecretReply } from "./messages";
import { Op } from "./ops";
import { ask } from "./host";
import { fail } from "./error";
import { utf8 } from "./wire";

/** Sends a request to an address that was granted, or to an endpoint that came with the running call; null is an
 * error, code UNKNOWN_OUTCOME saying that the request may have arrived. Any status is a reply. */
export function http(request: HTTPRequest): HTTPReply | null {
  const reply = new HTTPReply();
  if (!ask(Op.HTTP_SEND, request, reply)) return null;
  if (reply.secrets.length == request.extract.length) return reply;
  fail(Code.INTERNAL, "the host did not answer every pointer");
  return null;
}

/** A piece of a request as it stands. */
export function literal(text: string): HTTPPart {
  const part = new HTTPPart();
  part.literal = utf8(text);
  return part;
}

/** A header without secrets. */
export function header(name: string, value: string): HTTPHeader { return headerOf(name, literal(value)); }

/** A header whose value is a secret. */
export function secretHeader(name: string, value: Secret): HTTPHeader { return headerOf(name, value.raw()); }

function headerOf(name: string, value: HTTPPart): HTTPHeader {
  const h = new HTTPHeader();
  h.name = name;
  h.value = [value];
  return h;
}

/** The first header of a reply with that name, whatever the case of its letters; null when there is none. */
export function headerValue(reply: HTTPReply, name: string): string | null {
  const wanted = name.toLowerCase();
  for (let i = 0; i < reply.headers.length; i++) {
    if (reply.headers[i].name.toLowerCase() == wanted) return reply.headers[i].value;
  }
  return null;
}

/** A value that stays on the host, by its handle, which is good until the running call ends; 0 is none. */
export class Secret {
  /** Of one that was granted: another number when the value is another. */
  version: u64 = 0;
  /** Of one that was kept: milliseconds that are left of its time; 0: no end. */
  expiresMs: u64 = 0;
  /** Of one that was kept: what it was kept with. */
  note: Uint8Array = new Uint8Array(0);

  constructor(public handle: u64) {}

  /** The secret as it is, as a piece of a request. */
  raw(): HTTPPart { return this.part(PartEncoding.RAW); }
  /** Escaped for the inside of a JSON string; the quotes are not part of it. */
  json(): HTTPPart { return this.part(PartEncoding.JSON); }
  /** In standard base64. */
  base64(): HTTPPart { return this.part(PartEncoding.BASE64); }
  /** Percent-encoded, for a query or a form. */
  url(): HTTPPart { return this.part(PartEncoding.URL); }

  private part(encoding: u32): HTTPPart {
    const part = new HTTPPart();
    part.secret = this.handle;
    part.encoding = encoding;
    return part;
  }
}

/** A secret that [plugins.NAME.grant] in alineo.toml names, read anew; null is an error. */
export function grantedSecret(name: string): Secret | null { return get(name, false); }

/** What was kept under a name; null is an error, with code NOT_FOUND when nothing is, or its time is over. */
export function keptSecret(name: string): Secret | null { return get(name, true); }

function get(name: string, kept: bool): Secret | null {
  const request = new SecretGet(), reply = new SecretReply();
  request.name = name;
  request.kept = kept;
  if (!ask(Op.SECRET_GET, request, reply)) return null;
  const secret = new Secret(reply.secret);
  secret.version = reply.version;
  secret.expiresMs = reply.expiresMs;
  secret.note = reply.note;
  return secret;
}

/** Keeps a secret on the host for so many milliseconds, 0 being for as long as the plugin lives, for all instances of
 * this plugin; false is an error. The note comes back with it and is no secret. */
export function keepSecret(name: string, value: Secret, ttlMs: u64, note: Uint8Array): bool {
  const request = new SecretKeep();
  request.name = name;
  request.secret = value.handle;
  request.ttlMs = ttlMs;
  request.note = note;
  return ask(Op.SECRET_KEEP, request, new Empty());
}

/** Drops what was kept under a name; false is an error. */
export function forgetSecret(name: string): bool { return keepSecret(name, new Secret(0), 0, new Uint8Array(0)); }
