/* A credential broker whose values are secrets that the operator granted: static:NAME leads to NAME. */
#include "alineo_vault.h"

static alineo_str kinds[] = {ALINEO_STR("broker")};
static alineo_str optional[] = {ALINEO_STR("broker.resolve")};
static alineo_want wants[] = {
    {.name = ALINEO_STR("secret"), .reason = ALINEO_STR("gives them to sandboxes as credentials"), .optional = true},
};

static alineo_error *resolve(const alineo_broker_resolve_request *request, alineo_broker_resolve_reply *reply) {
    static const alineo_str prefix = ALINEO_STR("static:");
    alineo_str ref = request->source.ref;
    if (ref.len < prefix.len || !alineo_str_eq((alineo_str){ref.ptr, prefix.len}, prefix)) {
        return alineo_fail(ALINEO_CODE_NOT_FOUND, "this broker knows references of the form static:NAME");
    }
    /* Read anew each time, so that it can be rotated. */
    alineo_secret_reply granted;
    alineo_error *error = alineo_granted_secret((alineo_str){ref.ptr + prefix.len, ref.len - prefix.len}, &granted);
    if (error) return error;
    reply->value = granted.secret;
    return 0;
}

alineo_plugin alineo_the_plugin = {
    .manifest = {
        .name = ALINEO_STR("broker-static"), .version = ALINEO_STR("1.0.0"),
        .kinds = kinds, .kinds_count = 1,
        .optional = optional, .optional_count = 1,
        .capabilities = wants, .capabilities_count = 1,
    },
    /* These put credentials where the sandbox's requests leave. */
    .broker_set = alineo_vault_set,
    .broker_patch = alineo_vault_patch,
    .broker_remove = alineo_vault_remove,
    .broker_list_bindings = alineo_vault_list,
    .broker_resolve = resolve,
};
