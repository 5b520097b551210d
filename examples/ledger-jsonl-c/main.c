// libc
/* A ledger in a file of JSON lines. */
#include "ledger.h"

static alineo_str kinds[] = {ALINEO_STR("ledger")};

static alineo_want wants[] = {{
    .name = ALINEO_STR("files"),
    .resource = ALINEO_STR("/data"),
    .reason = ALINEO_STR("keeps the ledger in ledger.jsonl there"),
}};

alineo_plugin alineo_the_plugin = {
    .manifest =
        {
            .name = ALINEO_STR("ledger-jsonl-c"),
            .version = ALINEO_STR("1.0.0"),
            .kinds = kinds,
            .kinds_count = 1,
            .capabilities = wants,
            .capabilities_count = 1,
            .state = ALINEO_GUEST_STATE_EXCLUSIVE, /* the file has one writer */
        },
    .ledger_open = op_open,
    .ledger_append = op_append,
    .ledger_read = op_read,
    .ledger_last_checkpoint = op_last_checkpoint,
    .ledger_list_checkpoints = op_list_checkpoints,
    .ledger_list_sandboxes = op_list_sandboxes,
    .ledger_get_sandbox = op_get_sandbox,
    .ledger_find_sandbox = op_find_sandbox,
    .ledger_delete_sandbox = op_delete,
    .environment_get = op_environment_get,
    .environment_save = op_environment_save,
    .environment_delete = op_environment_delete,
    .environment_list = op_environment_list,
};
