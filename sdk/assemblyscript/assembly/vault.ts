// The half of a credential broker that is the same wherever its values come from: it delivers into the credential
// vault of an OpenSandbox egress sidecar.
//
// Values go from the host to the sidecar; the plugin writes the documents around them. A vault that is there already is
// changed under its revision, again when somebody else changed it meanwhile; a sidecar that is still starting is asked
// again. A call returns when the change is in force.

import * as m from "./messages";
import { fail, pass, takeError } from "./error";
import { Secret, header, headerValue, http, literal } from "./http";
import { sleep } from "./host";
import { Json, quoted } from "./json";
import { compare, utf8 } from "./wire";

/** Where a sidecar has its vault. */
const PATH = "/credential-vault";
/** What an answer has, with the value true, when the change is in force with it. */
const LIVE_HEADER = "X-Credential-Vault-Live";
const WHO = "the sandbox's egress sidecar ";

/** Delivers credentials: a plugin forwards its operations brokerSet, brokerPatch, brokerRemove and brokerListBindings to
 * one. */
export class Vault {
  /** How long to wait after a change, in milliseconds, unless the sidecar says that there is no need to: it may look at
   * its vault every half second. */
  settleMs: i64 = 600;
  /** The pauses before each attempt while a sidecar is starting, in milliseconds. */
  waitsMs: i64[] = [0, 300, 600, 1200, 2400];
  /** How often a change is tried because somebody else was faster. */
  conflicts: i32 = 6;

  /** Binds a credential, in the place of one of that name; null is an error. */
  set(request: m.BrokerSetRequest): m.Empty | null {
    const change = new Change(request.name, request.value, request.binding);
    const body = [literal(`{"credentials":[`)];
    change.credential(body);
    body.push(literal(`],"bindings":[` + change.bound() + "]}"));
    const reply = this.send(request.egress, "POST", body);
    if (reply === null) return null;
    if (reply.status == 409) return this.apply(request.egress, change);
    if (reply.status == 404) return noProxy("it has no credential vault");
    return this.done(reply);
  }

  /** Changes the value, the binding or both of what is bound; null is an error. */
  patch(request: m.BrokerPatchRequest): m.Empty | null {
    const change = new Change(request.name, request.value, request.binding);
    change.mustExist = true;
    return this.apply(request.egress, change);
  }

  /** Ends what is bound under a name, nothing being fine; null is an error. */
  remove(request: m.BrokerRemoveRequest): m.Empty | null {
    const change = new Change(request.name, 0, new m.Binding());
    change.removes = true;
    return this.apply(request.egress, change);
  }

  /** Says what is bound, as far as the sidecar tells; null is an error. */
  list(request: m.BrokerListRequest): m.BrokerListReply | null {
    const state = new State();
    if (!this.read(request.egress, state)) return null;
    const reply = new m.BrokerListReply(), items = state.items("bindings");
    for (let i = 0; i < items.length; i++) reply.bindings.push(namedBinding(items[i]));
    reply.bindings.sort((a, b) => compare(utf8(a.name), utf8(b.name)));
    return reply;
  }

  /** Asks the sidecar, again while it is starting. What it sends may be sent twice: a vault that was made the first time
   * exists the second, and a change that was made has another revision. */
  private send(egress: u64, method: string, body: m.HTTPPart[]): m.HTTPReply | null {
    const request = new m.HTTPRequest();
    request.endpoint = egress;
    request.url = PATH;
    request.method = method;
    request.body = body;
    if (body.length > 0) request.headers = [header("Content-Type", "application/json")];
    let reply: m.HTTPReply | null = null;
    for (let i = 0; i < this.waitsMs.length; i++) {
      if (this.waitsMs[i] > 0) sleep(this.waitsMs[i]);
      reply = http(request);
      if (reply === null) {
        const error = takeError();
        pass(error);
        if (error.code != m.Code.UNAVAILABLE && error.code != m.Code.UNKNOWN_OUTCOME) return null;
      } else if (reply.status != 412 && reply.status != 500 && reply.status != 502 && reply.status != 503) {
        return reply;
      }
    }
    return reply;
  }

  /** Reads what the vault holds; false is an error. */
  private read(egress: u64, state: State): bool {
    const reply = this.send(egress, "GET", []);
    if (reply === null) return false;
    if (reply.status == 404) return true;
    if (!succeeded(reply)) return false;
    const document = Json.parse(reply.body), revision = under(document, "revision");
    if (revision === null || !revision.isInteger) {
      fail(m.Code.UNAVAILABLE, WHO + "answers with something that is no credential vault");
      return false;
    }
    state.document = document;
    state.revision = revision.text;
    return true;
  }

  /** Reads the state and sends what the change makes of it, anew when the vault was changed in between. */
  private apply(egress: u64, change: Change): m.Empty | null {
    for (let i = 0; i < this.conflicts; i++) {
      const state = new State();
      if (!this.read(egress, state)) return null;
      const gone = change.mustExist ? !state.has("credentials", change.name) : state.document === null;
      if (gone && change.removes) return new m.Empty();
      if (gone) {
        fail(m.Code.NOT_FOUND, "no credential " + quoted(change.name) + " is bound in this sandbox");
        return null;
      }
      const body = change.document(state);
      if (body.length == 0) return new m.Empty();
      const reply = this.send(egress, "PATCH", body);
      if (reply === null) return null;
      if (reply.status != 409) return this.done(reply);
      sleep(20);
    }
    fail(m.Code.CONFLICT, "somebody else changed the sandbox's credential vault each time that it was to be changed").retryable = true;
    return null;
  }

  /** Waits until a change is in force. */
  private done(reply: m.HTTPReply): m.Empty | null {
    if (!succeeded(reply)) return null;
    const live = headerValue(reply, LIVE_HEADER);
    if ((live === null || live != "true") && this.settleMs > 0) sleep(this.settleMs);
    return new m.Empty();
  }
}

/** What a sidecar tells of its vault; no document is no vault. */
class State {
  document: Json | null = null;
  revision: string = "";

  items(key: string): Json[] { return list(this.document, key); }

  has(key: string, name: string): bool {
    const items = this.items(key);
    for (let i = 0; i < items.length; i++) {
      if (text(items[i], "name") == name) return true;
    }
    return false;
  }
}

/** What a vault is to become. */
class Change {
  mustExist: bool = false;
  removes: bool = false;

  constructor(public name: string, public value: u64, public binding: m.Binding) {}

  /** The change of a state; empty is none. */
  document(state: State): m.HTTPPart[] {
    const hasCredential = state.has("credentials", this.name), hasBinding = state.has("bindings", this.name);
    const body = [literal(`{"expectedRevision":` + state.revision)];
    const gone = `":{"delete":[` + quoted(this.name) + "]}";
    if (this.removes && hasCredential) body.push(literal(`,"credentials` + gone));
    if (this.removes && hasBinding) body.push(literal(`,"bindings` + gone));
    if (this.value != 0) {
      body.push(literal(`,"credentials":{` + verb(hasCredential)));
      this.credential(body);
      body.push(literal("]}"));
    }
    if (this.binding.hosts.length > 0) body.push(literal(`,"bindings":{` + verb(hasBinding) + this.bound() + "]}"));
    if (body.length == 1) return [];
    body.push(literal("}"));
    return body;
  }

  /** The document of the credential, with a place for the value. */
  credential(body: m.HTTPPart[]): void {
    body.push(literal(`{"name":` + quoted(this.name) + `,"source":{"type":"inline","value":"`));
    body.push(new Secret(this.value).json());
    body.push(literal(`"}}`));
  }

  /** The document of the binding, which is called as its credential is. */
  bound(): string {
    const b = this.binding;
    let match = `"hosts":` + strings(b.hosts);
    if (b.schemes.length > 0) match += `,"schemes":` + strings(b.schemes);
    if (b.methods.length > 0) match += `,"methods":` + strings(b.methods);
    if (b.paths.length > 0) match += `,"paths":` + strings(b.paths);
    if (b.ports.length > 0) match += `,"ports":[` + b.ports.join(",") + "]";
    let auth = `"type":` + quoted(b.auth);
    if (b.auth == "customHeaders") {
      const headers: string[] = [];
      for (let i = 0; i < b.headers.length; i++) {
        const whose = b.headers[i].credential.length > 0 ? b.headers[i].credential : this.name;
        headers.push(`{"name":` + quoted(b.headers[i].name) + `,"credential":` + quoted(whose) + "}");
      }
      auth += `,"headers":[` + headers.join(",") + "]";
    } else if (b.auth == "passthrough") {
      const places: string[] = [];
      for (let i = 0; i < b.substitutions.length; i++) {
        const s = b.substitutions[i];
        places.push(`{"credential":` + quoted(this.name) + `,"placeholder":` + quoted(s.placeholder) + `,"in":` + strings(s.in_) + "}");
      }
      auth += `,"substitutions":[` + places.join(",") + "]";
    } else {
      auth += `,"credential":` + quoted(this.name);
      if (b.auth == "apiKey") auth += `,"name":` + quoted(b.header);
    }
    return `{"name":` + quoted(this.name) + `,"match":{` + match + `},"auth":{` + auth + "}}";
  }
}

function verb(there: bool): string { return there ? `"replace":[` : `"add":[`; }

function strings(texts: string[]): string {
  const all: string[] = [];
  for (let i = 0; i < texts.length; i++) all.push(quoted(texts[i]));
  return "[" + all.join(",") + "]";
}

// --- what a sidecar tells ---

function under(item: Json | null, key: string): Json | null {
  if (item === null) return null;
  return item.get(key);
}

function text(item: Json | null, key: string): string {
  const value = under(item, key);
  return value === null || !value.isString ? "" : value.text;
}

function list(item: Json | null, key: string): Json[] {
  const value = under(item, key);
  return value === null ? [] : value.items;
}

/** The texts of a list, or none when they are what holds anyway. */
function texts(item: Json | null, key: string, byDefault: string[]): string[] {
  const items = list(item, key), all: string[] = [];
  let same = items.length == byDefault.length;
  for (let i = 0; i < items.length; i++) {
    all.push(items[i].text);
    same = same && items[i].text == byDefault[i];
  }
  return same ? [] : all;
}

function namedBinding(item: Json): m.NamedBinding {
  const named = new m.NamedBinding(), b = named.binding, match = item.get("match"), auth = item.get("auth");
  named.name = text(item, "name");
  b.schemes = texts(match, "schemes", ["https"]);
  b.hosts = texts(match, "hosts", []);
  b.methods = texts(match, "methods", ["GET", "POST", "PUT", "PATCH", "DELETE"]);
  b.paths = texts(match, "paths", ["/*"]);
  const ports = texts(match, "ports", ["443"]);
  for (let i = 0; i < ports.length; i++) b.ports.push(<u64>I64.parseInt(ports[i]));
  b.auth = text(auth, "type");
  b.header = text(auth, "name");
  const headers = list(auth, "headers");
  for (let i = 0; i < headers.length; i++) {
    const h = new m.AuthHeader();
    h.name = text(headers[i], "name");
    h.credential = text(headers[i], "credential");
    b.headers.push(h);
  }
  const places = list(auth, "substitutions");
  for (let i = 0; i < places.length; i++) {
    const s = new m.Substitution();
    s.placeholder = text(places[i], "placeholder");
    s.in_ = texts(places[i], "in", []);
    b.substitutions.push(s);
  }
  named.partial = (b.auth == "customHeaders" && b.headers.length == 0) || (b.auth == "passthrough" && b.substitutions.length == 0);
  return named;
}

// --- errors ---

/** Whether an answer is a success; what it means that is none has been noted. */
function succeeded(reply: m.HTTPReply): bool {
  const status = reply.status, why = said(reply);
  if (status >= 200 && status < 300) return true;
  if (status == 400) fail(m.Code.INVALID, WHO + "refuses this" + why);
  else if (status == 401 || status == 403) fail(m.Code.DENIED, WHO + "does not take the token that its server gave out" + why);
  else if (status == 404) noProxy("its sidecar has no credential vault");
  else if (status == 412) noProxy("its sidecar says" + why);
  else if (status == 426) {
    fail(m.Code.DENIED, WHO + "takes secrets over TLS or from its own machine only" + why +
      " (use_server_proxy = true below [sandbox] goes through the server, which is on that machine)");
  } else {
    const code = status == 409 ? m.Code.CONFLICT : status >= 500 ? m.Code.UNAVAILABLE : m.Code.INTERNAL;
    fail(code, WHO + "answered with status " + status.toString() + why).retryable = code != m.Code.INTERNAL;
  }
  return false;
}

/** The sidecar's text, as the end of a message. */
function said(reply: m.HTTPReply): string {
  const whole = String.UTF8.decodeUnsafe(reply.body.dataStart, reply.body.length).trim();
  let out = "";
  for (let i = 0; i < min(whole.length, 300); i++) {
    const c = whole.charCodeAt(i);
    out += c >= 0xd800 && c < 0xe000 ? "?" : whole.charAt(i); // a half of a pair is no text
  }
  return out.length == 0 ? "" : ": " + out;
}

/** Notes the error of a sandbox that has no place for credentials. */
function noProxy(why: string): m.Empty | null {
  const error = fail(m.Code.UNSUPPORTED, "the sandbox takes no credentials: " + why +
    "; create it with the credential proxy (credentialProxy and a networkPolicy)");
  error.details.set("no_proxy", "true");
  return null;
}
