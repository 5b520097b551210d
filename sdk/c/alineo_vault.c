/* Delivers credentials into the vault of an egress sidecar. */
#include "alineo_vault.h"

#define PATH "/credential-vault"
/* What an answer has, with the value true, when the change is in force with it. */
#define LIVE_HEADER "X-Credential-Vault-Live"
/* How long a sidecar may go on with what its vault was before, in milliseconds. */
#define SETTLE 600
/* How often a change is tried because somebody else was faster. */
#define CONFLICTS 6
#define WHO "the sandbox's egress sidecar "

static const uint64_t waits[] = {0, 300, 600, 1200, 2400}; /* before each attempt while a sidecar is starting */

static const alineo_json nothing = {0};

#define T(text) alineo_text(text)
#define JOIN(...) join((const alineo_str[]){__VA_ARGS__}, sizeof((const alineo_str[]){__VA_ARGS__}) / sizeof(alineo_str))

static alineo_str join(const alineo_str *parts, size_t count) {
    alineo_str whole = {"", 0};
    size_t len = 0;
    for (size_t i = 0; i < count; i++) len += parts[i].len;
    char *out = alineo_alloc(len + 1);
    whole = (alineo_str){out, len};
    for (size_t i = 0; i < count; i++) {
        if (parts[i].len) __builtin_memcpy(out, parts[i].ptr, parts[i].len);
        out += parts[i].len;
    }
    return whole;
}

static bool is(alineo_str text, const char *what) { return alineo_str_eq(text, alineo_text(what)); }

/* --- errors --- */

static alineo_error *fail(uint32_t code, alineo_str message) {
    alineo_error *error = alineo_fail(code, "");
    error->message = message;
    error->retryable = code == ALINEO_CODE_CONFLICT || code == ALINEO_CODE_UNAVAILABLE;
    return error;
}

static alineo_error *not_bound(alineo_str name) {
    return fail(ALINEO_CODE_NOT_FOUND, JOIN(T("no credential "), alineo_json_quoted(name), T(" is bound in this sandbox")));
}

/* The error of a sandbox that has no place for credentials. */
static alineo_error *no_proxy(alineo_str why) {
    alineo_error *error = fail(ALINEO_CODE_UNSUPPORTED, JOIN(T("the sandbox takes no credentials: "), why,
        T("; create it with the credential proxy (credentialProxy and a networkPolicy)")));
    error->details = alineo_alloc(sizeof *error->details);
    error->details[0] = (alineo_pair){T("no_proxy"), T("true")};
    error->details_count = 1;
    return error;
}

/* The sidecar's text, as the end of a message. */
static alineo_str said(const alineo_http_reply *reply) {
    size_t from = 0, to = reply->body.len;
    while (from < to && reply->body.ptr[from] <= ' ') from++;
    while (to > from && reply->body.ptr[to - 1] <= ' ') to--;
    if (to - from > 300) to = from + 300;
    if (from == to) return T("");
    char *text = alineo_alloc(to - from);
    for (size_t i = from; i < to; i++) text[i - from] = reply->body.ptr[i] < 0x80 ? (char)reply->body.ptr[i] : '?';
    return JOIN(T(": "), {text, to - from});
}

/* What an answer that is no success means, or NULL. */
static alineo_error *failure(const alineo_http_reply *reply) {
    alineo_str why = said(reply);
    switch (reply->status) {
    case 400: return fail(ALINEO_CODE_INVALID, JOIN(T(WHO "refuses this"), why));
    case 401:
    case 403: return fail(ALINEO_CODE_DENIED, JOIN(T(WHO "does not take the token that its server gave out"), why));
    case 404: return no_proxy(T("its sidecar has no credential vault"));
    case 412: return no_proxy(JOIN(T("its sidecar says"), why));
    case 426:
        return fail(ALINEO_CODE_DENIED, JOIN(T(WHO "takes secrets over TLS or from its own machine only"), why,
            T(" (use_server_proxy = true below [sandbox] goes through the server, which is on that machine)")));
    }
    if (reply->status >= 200 && reply->status < 300) return 0;
    uint32_t code = reply->status == 409 ? ALINEO_CODE_CONFLICT : reply->status >= 500 ? ALINEO_CODE_UNAVAILABLE : ALINEO_CODE_INTERNAL;
    return fail(code, JOIN(T(WHO "answered with status "), alineo_decimal((int64_t)reply->status), why));
}

/* --- a sidecar --- */

/* Pieces of a request's body, which grow. */
typedef struct pieces {
    alineo_http_part *list;
    size_t count, capacity;
} pieces;

static void piece(pieces *p, alineo_http_part part) {
    if (p->count == p->capacity) {
        p->capacity = p->capacity * 2 + 8;
        alineo_http_part *larger = alineo_alloc(p->capacity * sizeof *larger);
        if (p->count) __builtin_memcpy(larger, p->list, p->count * sizeof *larger);
        p->list = larger;
    }
    p->list[p->count++] = part;
}

static void text(pieces *p, alineo_str content) { piece(p, alineo_http_literal(content)); }

/* Asks the sidecar, again while it is starting. What it sends may be sent twice: a vault that was made the first time
 * exists the second, and a change that was made has another revision. */
static alineo_error *ask(uint64_t egress, const char *method, pieces body, alineo_http_reply *reply) {
    alineo_http_header kind = alineo_http_text_header("Content-Type", alineo_text("application/json"));
    alineo_http_request request = {.endpoint = egress, .url = T(PATH), .method = alineo_text(method), .body = body.list, .body_count = body.count};
    if (body.count) {
        request.headers = &kind;
        request.headers_count = 1;
    }
    alineo_error *error = 0;
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        if (waits[i]) alineo_sleep(waits[i]);
        error = alineo_http(&request, reply);
        if (error && error->code != ALINEO_CODE_UNAVAILABLE && error->code != ALINEO_CODE_UNKNOWN_OUTCOME) return error;
        uint64_t status = reply->status;
        if (!error && status != 412 && status != 500 && status != 502 && status != 503) return 0;
    }
    return error;
}

/* Waits until a change is in force. */
static alineo_error *done(const alineo_http_reply *reply) {
    alineo_error *error = failure(reply);
    if (!error && !is(alineo_http_value(reply, LIVE_HEADER), "true")) alineo_sleep(SETTLE);
    return error;
}

/* Reads the state; a kind of ALINEO_JSON_NONE is no vault. */
static alineo_error *state_of(uint64_t egress, alineo_json *state) {
    alineo_http_reply reply;
    *state = nothing;
    alineo_error *error = ask(egress, "GET", (pieces){0}, &reply);
    if (error) return error;
    if (reply.status == 404) return 0;
    if ((error = failure(&reply))) return error;
    int64_t revision;
    if (!alineo_json_parse(reply.body, state) || !alineo_json_integer(alineo_json_get(state, "revision"), &revision)) {
        return fail(ALINEO_CODE_UNAVAILABLE, T(WHO "answers with something that is no credential vault"));
    }
    return 0;
}

static bool has(const alineo_json *state, const char *list, alineo_str name) {
    const alineo_json *items = alineo_json_get(state, list);
    for (size_t i = 0; i < items->count; i++) {
        if (alineo_str_eq(alineo_json_get(&items->items[i], "name")->text, name)) return true;
    }
    return false;
}

/* --- documents --- */

/* What a vault is to become. */
typedef struct change {
    alineo_str name;
    uint64_t value;
    const alineo_binding *binding;
    bool must_exist, removes;
} change;

/* The document of the credential, with a place for the value. */
static void put_credential(pieces *p, const change *c) {
    text(p, JOIN(T("{\"name\":"), alineo_json_quoted(c->name), T(",\"source\":{\"type\":\"inline\",\"value\":\"")));
    piece(p, (alineo_http_part){.secret = c->value, .encoding = ALINEO_PART_ENCODING_JSON});
    text(p, T("\"}}"));
}

static void put_texts(pieces *p, const char *before, const alineo_str *list, size_t count) {
    if (!count) return;
    text(p, T(before));
    for (size_t i = 0; i < count; i++) text(p, JOIN(T(i ? "," : "["), alineo_json_quoted(list[i])));
    text(p, T("]"));
}

/* The document of the binding, which is called as its credential is. */
static void put_binding(pieces *p, const change *c) {
    const alineo_binding *b = c->binding;
    alineo_str name = alineo_json_quoted(c->name);
    text(p, JOIN(T("{\"name\":"), name, T(",\"match\":{")));
    put_texts(p, "\"hosts\":", b->hosts, b->hosts_count);
    put_texts(p, ",\"schemes\":", b->schemes, b->schemes_count);
    put_texts(p, ",\"methods\":", b->methods, b->methods_count);
    put_texts(p, ",\"paths\":", b->paths, b->paths_count);
    for (size_t i = 0; i < b->ports_count; i++) text(p, JOIN(T(i ? "," : ",\"ports\":["), alineo_decimal((int64_t)b->ports[i])));
    if (b->ports_count) text(p, T("]"));
    text(p, JOIN(T("},\"auth\":{\"type\":"), alineo_json_quoted(b->auth)));
    if (is(b->auth, "customHeaders")) {
        text(p, T(",\"headers\":["));
        for (size_t i = 0; i < b->headers_count; i++) {
            alineo_str whose = b->headers[i].credential.len ? b->headers[i].credential : c->name;
            text(p, JOIN(T(i ? "," : ""), T("{\"name\":"), alineo_json_quoted(b->headers[i].name), T(",\"credential\":"), alineo_json_quoted(whose), T("}")));
        }
        text(p, T("]"));
    } else if (is(b->auth, "passthrough")) {
        text(p, T(",\"substitutions\":["));
        for (size_t i = 0; i < b->substitutions_count; i++) {
            const alineo_substitution *s = &b->substitutions[i];
            text(p, JOIN(T(i ? "," : ""), T("{\"credential\":"), name, T(",\"placeholder\":"), alineo_json_quoted(s->placeholder)));
            put_texts(p, ",\"in\":", s->in, s->in_count);
            text(p, T("}"));
        }
        text(p, T("]"));
    } else {
        text(p, JOIN(T(",\"credential\":"), name));
        if (is(b->auth, "apiKey")) text(p, JOIN(T(",\"name\":"), alineo_json_quoted(b->header)));
    }
    text(p, T("}}"));
}

/* The change of a state, without pieces when there is none. */
static pieces document(const change *c, const alineo_json *state) {
    bool credential = has(state, "credentials", c->name), binding = has(state, "bindings", c->name);
    alineo_str gone = JOIN(T(":{\"delete\":["), alineo_json_quoted(c->name), T("]}"));
    pieces p = {0};
    text(&p, JOIN(T("{\"expectedRevision\":"), alineo_json_get(state, "revision")->text));
    size_t before = p.count;
    if (c->removes && credential) text(&p, JOIN(T(",\"credentials\""), gone));
    if (c->removes && binding) text(&p, JOIN(T(",\"bindings\""), gone));
    if (c->value) {
        text(&p, T(credential ? ",\"credentials\":{\"replace\":[" : ",\"credentials\":{\"add\":["));
        put_credential(&p, c);
        text(&p, T("]}"));
    }
    if (c->binding && c->binding->hosts_count) {
        text(&p, T(binding ? ",\"bindings\":{\"replace\":[" : ",\"bindings\":{\"add\":["));
        put_binding(&p, c);
        text(&p, T("]}"));
    }
    if (p.count == before) return (pieces){0};
    text(&p, T("}"));
    return p;
}

/* Reads the state and sends what the change makes of it, anew when the vault was changed in between. */
static alineo_error *apply(uint64_t egress, const change *c) {
    for (int i = 0; i < CONFLICTS; i++) {
        alineo_json state;
        alineo_http_reply reply;
        alineo_error *error = state_of(egress, &state);
        if (error) return error;
        bool gone = c->must_exist ? !has(&state, "credentials", c->name) : state.kind == ALINEO_JSON_NONE;
        if (gone) return c->removes ? 0 : not_bound(c->name);
        pieces body = document(c, &state);
        if (!body.count) return 0;
        if ((error = ask(egress, "PATCH", body, &reply))) return error;
        if (reply.status != 409) return done(&reply);
        alineo_sleep(20);
    }
    return fail(ALINEO_CODE_CONFLICT, T("somebody else changed the sandbox's credential vault each time that it was to be changed"));
}

/* --- operations --- */

alineo_error *alineo_vault_set(const alineo_broker_set_request *request, alineo_empty *reply) {
    (void)reply;
    change c = {.name = request->name, .value = request->value, .binding = &request->binding};
    pieces body = {0};
    alineo_http_reply answer;
    text(&body, T("{\"credentials\":["));
    put_credential(&body, &c);
    text(&body, T("],\"bindings\":["));
    put_binding(&body, &c);
    text(&body, T("]}"));
    alineo_error *error = ask(request->egress, "POST", body, &answer);
    if (error) return error;
    if (answer.status == 409) return apply(request->egress, &c);
    if (answer.status == 404) return no_proxy(T("it has no credential vault"));
    return done(&answer);
}

alineo_error *alineo_vault_patch(const alineo_broker_patch_request *request, alineo_empty *reply) {
    (void)reply;
    change c = {.name = request->name, .value = request->value, .binding = &request->binding, .must_exist = true};
    return apply(request->egress, &c);
}

alineo_error *alineo_vault_remove(const alineo_broker_remove_request *request, alineo_empty *reply) {
    (void)reply;
    change c = {.name = request->name, .removes = true};
    return apply(request->egress, &c);
}

/* The texts of a list, or none when they are what holds anyway. */
static alineo_str *texts(const alineo_json *list, const char *const *by_default, size_t defaults, size_t *count) {
    alineo_str *all = alineo_alloc(list->count * sizeof *all + 1);
    bool same = list->count == defaults;
    for (size_t i = 0; i < list->count; i++) {
        all[i] = list->items[i].text;
        same = same && is(all[i], by_default[i]);
    }
    *count = same ? 0 : list->count;
    return all;
}

static alineo_named_binding named(const alineo_json *item) {
    static const char *const schemes[] = {"https"}, *const paths[] = {"/*"}, *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const alineo_json *match = alineo_json_get(item, "match"), *auth = alineo_json_get(item, "auth");
    const alineo_json *ports = alineo_json_get(match, "ports"), *headers = alineo_json_get(auth, "headers");
    const alineo_json *places = alineo_json_get(auth, "substitutions");
    alineo_named_binding n = {.name = alineo_json_get(item, "name")->text};
    alineo_binding *b = &n.binding;
    b->schemes = texts(alineo_json_get(match, "schemes"), schemes, 1, &b->schemes_count);
    b->hosts = texts(alineo_json_get(match, "hosts"), 0, 0, &b->hosts_count);
    b->methods = texts(alineo_json_get(match, "methods"), methods, 5, &b->methods_count);
    b->paths = texts(alineo_json_get(match, "paths"), paths, 1, &b->paths_count);
    b->ports = alineo_alloc(ports->count * sizeof *b->ports + 1);
    for (size_t i = 0; i < ports->count; i++) {
        int64_t port = 0;
        if (alineo_json_integer(&ports->items[i], &port)) b->ports[b->ports_count++] = (uint64_t)port;
    }
    if (b->ports_count == 1 && b->ports[0] == 443) b->ports_count = 0;
    b->auth = alineo_json_get(auth, "type")->text;
    b->header = alineo_json_get(auth, "name")->text;
    b->headers = alineo_alloc(headers->count * sizeof *b->headers + 1);
    b->headers_count = headers->count;
    for (size_t i = 0; i < headers->count; i++) {
        b->headers[i].name = alineo_json_get(&headers->items[i], "name")->text;
        b->headers[i].credential = alineo_json_get(&headers->items[i], "credential")->text;
    }
    b->substitutions = alineo_alloc(places->count * sizeof *b->substitutions + 1);
    b->substitutions_count = places->count;
    for (size_t i = 0; i < places->count; i++) {
        alineo_substitution *s = &b->substitutions[i];
        s->placeholder = alineo_json_get(&places->items[i], "placeholder")->text;
        s->in = texts(alineo_json_get(&places->items[i], "in"), 0, 0, &s->in_count);
    }
    n.partial = (is(b->auth, "customHeaders") && !b->headers_count) || (is(b->auth, "passthrough") && !b->substitutions_count);
    return n;
}

static bool before(alineo_str a, alineo_str b) {
    size_t shorter = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < shorter; i++) {
        if (a.ptr[i] != b.ptr[i]) return (uint8_t)a.ptr[i] < (uint8_t)b.ptr[i];
    }
    return a.len < b.len;
}

alineo_error *alineo_vault_list(const alineo_broker_list_request *request, alineo_broker_list_reply *reply) {
    alineo_json state;
    alineo_error *error = state_of(request->egress, &state);
    if (error) return error;
    const alineo_json *items = alineo_json_get(&state, "bindings");
    reply->bindings = alineo_alloc(items->count * sizeof *reply->bindings + 1);
    for (size_t i = 0; i < items->count; i++) {
        alineo_named_binding n = named(&items->items[i]);
        size_t at = reply->bindings_count++;
        for (; at > 0 && before(n.name, reply->bindings[at - 1].name); at--) reply->bindings[at] = reply->bindings[at - 1];
        reply->bindings[at] = n;
    }
    return 0;
}
