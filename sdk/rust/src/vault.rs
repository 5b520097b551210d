//! The half of a credential broker that is the same wherever its values come from: it delivers into the credential
//! vault of an OpenSandbox egress sidecar.
//!
//! Values go from the host to the sidecar; the plugin writes the documents around them. A vault that is there
//! already is changed under its revision, again when somebody else changed it meanwhile; a sidecar that is still
//! starting is asked again. A call returns when the change is in force.

use crate::error::Error;
use crate::host::sleep;
use crate::http::{send, Secret};
use crate::json::{quoted, Json};
use crate::messages::*;

/// Where a sidecar has its vault.
const PATH: &str = "/credential-vault";
/// What an answer has, with the value true, when the change is in force with it.
const LIVE_HEADER: &str = "X-Credential-Vault-Live";

/// Delivers credentials. A plugin forwards its operations `broker_set`, `broker_patch`, `broker_remove` and
/// `broker_list_bindings` to one.
pub struct Vault {
    /// How long to wait after a change, in milliseconds, unless the sidecar says that there is no need to: it may
    /// look at its vault every half second.
    pub settle_ms: u64,
    /// The pauses before each attempt while a sidecar is starting, in milliseconds.
    pub waits_ms: Vec<u64>,
    /// How often a change is tried because somebody else was faster.
    pub conflicts: usize,
}

impl Default for Vault {
    fn default() -> Self {
        Vault { settle_ms: 600, waits_ms: vec![0, 300, 600, 1200, 2400], conflicts: 6 }
    }
}

type Parts = Vec<HTTPPart>;

impl Vault {
    /// Binds a credential, in the place of one of that name.
    pub fn set(&self, request: &BrokerSetRequest) -> Result<(), Error> {
        let name = &request.name;
        let mut body = vec![HTTPPart::text("{\"credentials\":[")];
        body.extend(credential(name, request.value));
        body.push(HTTPPart::text(format!("],\"bindings\":[{}]}}", binding(name, &request.binding))));
        let reply = self.send(request.egress, "POST", body)?;
        match reply.status {
            409 => self.change(request.egress, name, |state| {
                let credentials = section(state.has("credentials", name), credential(name, request.value));
                let bindings = vec![HTTPPart::text(binding(name, &request.binding))];
                Ok(Some(state.mutation(Some(credentials), Some(section(state.has("bindings", name), bindings)))))
            }),
            404 => Err(no_proxy("it has no credential vault")),
            _ => self.done(&reply),
        }
    }

    /// Changes the value, the binding or both of what is bound.
    pub fn patch(&self, request: &BrokerPatchRequest) -> Result<(), Error> {
        let name = &request.name;
        self.change(request.egress, name, |state| {
            if !state.has("credentials", name) {
                return Err(not_bound(name));
            }
            let credentials = match request.value {
                0 => None,
                value => Some(section(true, credential(name, value))),
            };
            let bindings = match request.binding.hosts.is_empty() {
                true => None,
                false => {
                    let one = vec![HTTPPart::text(binding(name, &request.binding))];
                    Some(section(state.has("bindings", name), one))
                }
            };
            if credentials.is_none() && bindings.is_none() {
                return Ok(None);
            }
            Ok(Some(state.mutation(credentials, bindings)))
        })
    }

    /// Ends what is bound under a name; nothing is fine.
    pub fn remove(&self, request: &BrokerRemoveRequest) -> Result<(), Error> {
        let name = &request.name;
        let result = self.change(request.egress, name, |state| {
            let gone = |key: &str| match state.has(key, name) {
                true => Some(vec![HTTPPart::text(format!("\"delete\":[{}]", quoted(name)))]),
                false => None,
            };
            let (credentials, bindings) = (gone("credentials"), gone("bindings"));
            if credentials.is_none() && bindings.is_none() {
                return Ok(None);
            }
            Ok(Some(state.mutation(credentials, bindings)))
        });
        match result {
            Err(error) if error.code == code::NOT_FOUND => Ok(()),
            other => other,
        }
    }

    /// Says what is bound, as far as the sidecar tells.
    pub fn list(&self, request: &BrokerListRequest) -> Result<BrokerListReply, Error> {
        Ok(match self.read(request.egress)? {
            None => BrokerListReply::default(),
            Some(state) => BrokerListReply { bindings: state.list() },
        })
    }

    /// Asks the sidecar, again while it is starting. What it sends may be sent twice: a vault that was made the
    /// first time exists the second, and a change that was made has another revision.
    fn send(&self, egress: u64, method: &str, body: Parts) -> Result<HTTPReply, Error> {
        let mut request =
            HTTPRequest { endpoint: egress, url: PATH.into(), method: method.into(), ..HTTPRequest::default() };
        if !body.is_empty() {
            request.headers = vec![HTTPHeader::text("Content-Type", "application/json")];
            request.body = body;
        }
        let mut result = Err(Error::internal("a vault without attempts"));
        for wait in &self.waits_ms {
            if *wait > 0 {
                sleep(*wait);
            }
            result = send(&request);
            let again = match &result {
                Ok(reply) => matches!(reply.status, 500 | 502 | 503 | 412),
                Err(error) => matches!(error.code, code::UNAVAILABLE | code::UNKNOWN_OUTCOME),
            };
            if !again {
                break;
            }
        }
        result
    }

    /// The state of the vault, None when there is none.
    fn read(&self, egress: u64) -> Result<Option<State>, Error> {
        let reply = self.send(egress, "GET", Parts::new())?;
        if reply.status == 404 {
            return Ok(None);
        }
        failure(&reply)?;
        let document = Json::parse(&reply.body);
        match document.as_ref().and_then(|d| d.get("revision")).and_then(Json::as_i64) {
            Some(revision) => Ok(document.map(|document| State { revision, document })),
            None => Err(Error::new(
                code::UNAVAILABLE,
                "the sandbox's egress sidecar answers with something that is no credential vault",
            )),
        }
    }

    /// Reads the state, forms a change of it and sends that, anew when the vault was changed in between.
    fn change(
        &self,
        egress: u64,
        name: &str,
        form: impl Fn(&State) -> Result<Option<Parts>, Error>,
    ) -> Result<(), Error> {
        for _ in 0..self.conflicts {
            let state = self.read(egress)?.ok_or_else(|| not_bound(name))?;
            let body = match form(&state)? {
                None => return Ok(()),
                Some(body) => body,
            };
            let reply = self.send(egress, "PATCH", body)?;
            if reply.status != 409 {
                return self.done(&reply);
            }
            sleep(20);
        }
        let why = "somebody else changed the sandbox's credential vault each time that it was to be changed";
        Err(Error { retryable: true, ..Error::conflict(why) })
    }

    /// Waits until a change is in force.
    fn done(&self, reply: &HTTPReply) -> Result<(), Error> {
        failure(reply)?;
        if reply.header(LIVE_HEADER) != Some("true") && self.settle_ms > 0 {
            sleep(self.settle_ms);
        }
        Ok(())
    }
}

/// What a sidecar tells of its vault.
struct State {
    revision: i64,
    document: Json,
}

impl State {
    fn items(&self, key: &str) -> &[Json] {
        self.document.get(key).map_or(&[], Json::items)
    }

    fn has(&self, key: &str, name: &str) -> bool {
        self.items(key).iter().any(|item| text(item, "name") == name)
    }

    /// The document of a change; a section that is None is left out.
    fn mutation(&self, credentials: Option<Parts>, bindings: Option<Parts>) -> Parts {
        let mut body = vec![HTTPPart::text(format!("{{\"expectedRevision\":{}", self.revision))];
        for (key, list) in [("credentials", credentials), ("bindings", bindings)] {
            if let Some(list) = list {
                body.push(HTTPPart::text(format!(",\"{}\":{{", key)));
                body.extend(list);
                body.push(HTTPPart::text("}"));
            }
        }
        body.push(HTTPPart::text("}"));
        body
    }

    /// The state as bindings. What a sidecar fills in for what was not said is left out again.
    fn list(&self) -> Vec<NamedBinding> {
        let mut list: Vec<_> = self.items("bindings").iter().map(named_binding).collect();
        list.sort_by(|a, b| a.name.cmp(&b.name));
        list
    }
}

fn named_binding(item: &Json) -> NamedBinding {
    let (matches, auth) = (item.get("match").unwrap_or(&Json::Null), item.get("auth").unwrap_or(&Json::Null));
    let mut b = Binding {
        schemes: unless(texts(matches, "schemes"), &["https"]),
        ports: list(matches, "ports").iter().filter_map(Json::as_i64).map(|port| port as u64).collect(),
        hosts: texts(matches, "hosts"),
        methods: unless(texts(matches, "methods"), &["GET", "POST", "PUT", "PATCH", "DELETE"]),
        paths: unless(texts(matches, "paths"), &["/*"]),
        auth: text(auth, "type").into(),
        header: text(auth, "name").into(),
        ..Binding::default()
    };
    if b.ports == [443] {
        b.ports.clear();
    }
    for header in list(auth, "headers") {
        b.headers.push(AuthHeader { name: text(header, "name").into(), credential: text(header, "credential").into() });
    }
    for s in list(auth, "substitutions") {
        b.substitutions.push(Substitution { placeholder: text(s, "placeholder").into(), r#in: texts(s, "in") });
    }
    let partial =
        b.auth == "customHeaders" && b.headers.is_empty() || b.auth == "passthrough" && b.substitutions.is_empty();
    NamedBinding { name: text(item, "name").into(), binding: b, partial }
}

fn text<'a>(item: &'a Json, key: &str) -> &'a str {
    item.get(key).and_then(Json::as_str).unwrap_or("")
}

fn list<'a>(item: &'a Json, key: &str) -> &'a [Json] {
    item.get(key).map_or(&[], Json::items)
}

fn texts(item: &Json, key: &str) -> Vec<String> {
    list(item, key).iter().filter_map(Json::as_str).map(String::from).collect()
}

/// The list, or nothing when it is what holds anyway.
fn unless(list: Vec<String>, by_default: &[&str]) -> Vec<String> {
    if list == by_default {
        return Vec::new();
    }
    list
}

// --- documents ---

/// The document of a credential, with a place for the value.
fn credential(name: &str, value: u64) -> Parts {
    let before = format!("{{\"name\":{},\"source\":{{\"type\":\"inline\",\"value\":\"", quoted(name));
    vec![HTTPPart::text(before), Secret(value).json(), HTTPPart::text("\"}}")]
}

/// One list of a change: what is there is replaced, what isn't is added.
fn section(there: bool, element: Parts) -> Parts {
    let mut parts = vec![HTTPPart::text(if there { "\"replace\":[" } else { "\"add\":[" })];
    parts.extend(element);
    parts.push(HTTPPart::text("]"));
    parts
}

fn array<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(","))
}

/// The document of a binding, which is called as its credential is.
fn binding(name: &str, b: &Binding) -> String {
    let strings = |list: &[String]| array(list, |text| quoted(text));
    let mut matches = format!("\"hosts\":{}", strings(&b.hosts));
    for (key, list) in [("schemes", &b.schemes), ("methods", &b.methods), ("paths", &b.paths)] {
        if !list.is_empty() {
            matches += &format!(",\"{}\":{}", key, strings(list));
        }
    }
    if !b.ports.is_empty() {
        matches += &format!(",\"ports\":{}", array(&b.ports, |port| port.to_string()));
    }
    let mut auth = format!("\"type\":{}", quoted(&b.auth));
    match b.auth.as_str() {
        "customHeaders" => {
            let headers = array(&b.headers, |h| {
                let of = if h.credential.is_empty() { name } else { &h.credential };
                format!("{{\"name\":{},\"credential\":{}}}", quoted(&h.name), quoted(of))
            });
            auth += &format!(",\"headers\":{}", headers);
        }
        "passthrough" => {
            let substitutions = array(&b.substitutions, |s| {
                let place = quoted(&s.placeholder);
                format!("{{\"credential\":{},\"placeholder\":{},\"in\":{}}}", quoted(name), place, strings(&s.r#in))
            });
            auth += &format!(",\"substitutions\":{}", substitutions);
        }
        kind => {
            auth += &format!(",\"credential\":{}", quoted(name));
            if kind == "apiKey" {
                auth += &format!(",\"name\":{}", quoted(&b.header));
            }
        }
    }
    format!("{{\"name\":{},\"match\":{{{}}},\"auth\":{{{}}}}}", quoted(name), matches, auth)
}

// --- errors ---

/// What an answer that is no success means.
fn failure(reply: &HTTPReply) -> Result<(), Error> {
    let said = said(reply);
    let who = "the sandbox's egress sidecar";
    let status = format!("{} answered with status {}{}", who, reply.status, said);
    let (code, message) = match reply.status {
        200..=299 => return Ok(()),
        400 => (code::INVALID, format!("{} refuses this{}", who, said)),
        401 | 403 => (code::DENIED, format!("{} does not take the token that its server gave out{}", who, said)),
        404 => return Err(no_proxy("its sidecar has no credential vault")),
        409 => (code::CONFLICT, status),
        412 => return Err(no_proxy(&format!("its sidecar says{}", said))),
        426 => (
            code::DENIED,
            format!(
                "{} takes secrets over TLS or from its own machine only{} (use_server_proxy = true below [sandbox] goes through the server, which is on that machine)",
                who, said
            ),
        ),
        500..=u64::MAX => (code::UNAVAILABLE, status),
        _ => (code::INTERNAL, status),
    };
    let retryable = matches!(code, code::CONFLICT | code::UNAVAILABLE);
    Err(Error { retryable, ..Error::new(code, message) })
}

/// The sidecar's text, as the end of a message.
fn said(reply: &HTTPReply) -> String {
    let text = String::from_utf8_lossy(&reply.body);
    match text.trim() {
        "" => String::new(),
        text => format!(": {}", text.chars().take(300).collect::<String>()),
    }
}

fn not_bound(name: &str) -> Error {
    Error::not_found(format!("no credential {} is bound in this sandbox", quoted(name)))
}

/// The error of a sandbox that has no place for credentials.
fn no_proxy(why: &str) -> Error {
    let message = format!(
        "the sandbox takes no credentials: {}; create it with the credential proxy (credentialProxy and a networkPolicy)",
        why
    );
    Error::new(code::UNSUPPORTED, message).with("no_proxy", "true")
}
