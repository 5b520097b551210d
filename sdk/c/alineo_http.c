/* Requests through the host, and secrets, which stay there. */
#include "alineo.h"

alineo_error *alineo_http(const alineo_http_request *request, alineo_http_reply *reply) {
    alineo_error *error = alineo_ask(ALINEO_OP_HTTP_SEND, &alineo_http_request_type, request, &alineo_http_reply_type, reply);
    if (!error && reply->secrets_count != request->extract_count) {
        return alineo_fail(ALINEO_CODE_INTERNAL, "the host did not answer every pointer");
    }
    return error;
}

alineo_http_part alineo_http_literal(alineo_str text) {
    return (alineo_http_part){.literal = {(const uint8_t *)text.ptr, text.len}};
}

alineo_http_header alineo_http_text_header(const char *name, alineo_str value) {
    alineo_http_part *part = alineo_alloc(sizeof *part);
    *part = alineo_http_literal(value);
    return (alineo_http_header){.name = alineo_text(name), .value = part, .value_count = 1};
}

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

alineo_str alineo_http_value(const alineo_http_reply *reply, const char *name) {
    alineo_str wanted = alineo_text(name);
    for (size_t i = 0; i < reply->headers_count; i++) {
        const alineo_http_field *field = &reply->headers[i];
        size_t at = 0;
        if (field->name.len != wanted.len) continue;
        while (at < wanted.len && lower(field->name.ptr[at]) == lower(wanted.ptr[at])) at++;
        if (at == wanted.len) return field->value;
    }
    return (alineo_str){"", 0};
}

static alineo_error *secret(alineo_str name, bool kept, alineo_secret_reply *reply) {
    alineo_secret_get request = {.name = name, .kept = kept};
    return alineo_ask(ALINEO_OP_SECRET_GET, &alineo_secret_get_type, &request, &alineo_secret_reply_type, reply);
}

alineo_error *alineo_granted_secret(alineo_str name, alineo_secret_reply *reply) { return secret(name, false, reply); }
alineo_error *alineo_kept_secret(alineo_str name, alineo_secret_reply *reply) { return secret(name, true, reply); }

alineo_error *alineo_keep_secret(alineo_str name, uint64_t handle, uint64_t ttl_ms, alineo_bytes note) {
    alineo_secret_keep request = {.name = name, .secret = handle, .ttl_ms = ttl_ms, .note = note};
    alineo_empty reply;
    return alineo_ask(ALINEO_OP_SECRET_KEEP, &alineo_secret_keep_type, &request, &alineo_empty_type, &reply);
}
