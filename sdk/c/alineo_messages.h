/* Written by internal/sdkgen from abi/. Do not edit. */

/* Messages, operations and columns of the ABI, and the functions that a plugin is. Include alineo.h. */

#ifndef ALINEO_MESSAGES_H
#define ALINEO_MESSAGES_H

/* What went wrong. Zero is not a failure. */
enum {
    ALINEO_CODE_OK = 0,
    ALINEO_CODE_INVALID = 1, /* the request is wrong; the same request fails again */
    ALINEO_CODE_NOT_FOUND = 2, /* what the request names does not exist */
    ALINEO_CODE_CONFLICT = 3, /* what is there is not what the request expected */
    ALINEO_CODE_DENIED = 4, /* not granted, or refused by the other side */
    ALINEO_CODE_UNSUPPORTED = 5, /* the operation is unknown to the receiver */
    ALINEO_CODE_UNAVAILABLE = 6, /* nothing was done; the same request may succeed later */
    ALINEO_CODE_UNKNOWN_OUTCOME = 7, /* it may or may not have been done */
    ALINEO_CODE_RESOURCE_EXHAUSTED = 8, /* a limit was reached */
    ALINEO_CODE_DEADLINE = 9, /* time ran out and nothing was done */
    ALINEO_CODE_INTERNAL = 10, /* a fault of the receiver */
};

/* What a guest keeps between calls. */
enum {
    ALINEO_GUEST_STATE_NONE = 0, /* nothing: instances are pooled, replaced and reloaded freely */
    ALINEO_GUEST_STATE_VOLATILE = 1, /* lost by a trap: the plugin is then failed, never silently reborn */
    ALINEO_GUEST_STATE_EXCLUSIVE = 2, /* owns something outside: one instance at a time */
};

/* Where a parameter's value comes from. */
enum {
    ALINEO_PARAM_KIND_LITERAL = 0,
    ALINEO_PARAM_KIND_COLUMN = 1, /* a column of the step's batch */
    ALINEO_PARAM_KIND_RESULT = 2, /* the first row of an earlier step's result */
};

/* How a secret is written. */
enum {
    ALINEO_PART_ENCODING_RAW = 0, /* as it is */
    ALINEO_PART_ENCODING_JSON = 1, /* escaped for the inside of a JSON string, without the quotes */
    ALINEO_PART_ENCODING_BASE64 = 2, /* standard base64 with padding */
    ALINEO_PART_ENCODING_URL = 3, /* percent-encoded */
};

enum {
    ALINEO_RUN_OUTCOME_UNCHANGED = 0, /* it is there, and was left as it is */
    ALINEO_RUN_OUTCOME_CHANGED = 1, /* it was made, patched, claimed or deleted */
    ALINEO_RUN_OUTCOME_UNKNOWN = 2, /* there is no such run */
};

/* Where the rows of a step go. */
enum {
    ALINEO_SQL_RESULT_NONE = 0,
    ALINEO_SQL_RESULT_INLINE = 1, /* the reply carries them as a table */
    ALINEO_SQL_RESULT_HANDLE = 2, /* they stay on the host as a rows handle */
};

/* Numbers of operations: of a guest below 0x1000, of the host from there on. */
enum {
    ALINEO_OP_DESCRIBE = 0x01,
    ALINEO_OP_CONFIGURE = 0x02,
    ALINEO_OP_CLOSE = 0x03,
    ALINEO_OP_HEALTH = 0x04,
    ALINEO_OP_ECHO = 0x05,
    ALINEO_OP_LEDGER_OPEN = 0x10,
    ALINEO_OP_LEDGER_APPEND = 0x11,
    ALINEO_OP_LEDGER_READ = 0x12,
    ALINEO_OP_LEDGER_LAST_CHECKPOINT = 0x13,
    ALINEO_OP_LEDGER_LIST_CHECKPOINTS = 0x14,
    ALINEO_OP_LEDGER_LIST_SANDBOXES = 0x15,
    ALINEO_OP_LEDGER_GET_SANDBOX = 0x16,
    ALINEO_OP_LEDGER_FIND_SANDBOX = 0x17,
    ALINEO_OP_LEDGER_DELETE_SANDBOX = 0x18,
    ALINEO_OP_LEDGER_LIST_HEADS = 0x19,
    ALINEO_OP_LEDGER_LIST_SEGMENTS = 0x1a,
    ALINEO_OP_LEDGER_LIST_TOMBSTONES = 0x1b,
    ALINEO_OP_LEDGER_USAGE = 0x1c,
    ALINEO_OP_LEDGER_STATS = 0x1d,
    ALINEO_OP_ENVIRONMENT_GET = 0x20,
    ALINEO_OP_ENVIRONMENT_SAVE = 0x21,
    ALINEO_OP_ENVIRONMENT_DELETE = 0x22,
    ALINEO_OP_ENVIRONMENT_LIST = 0x23,
    ALINEO_OP_INSTANCES_GET = 0x30,
    ALINEO_OP_INSTANCES_PUT = 0x31,
    ALINEO_OP_INSTANCES_DELETE = 0x32,
    ALINEO_OP_INSTANCES_PUT_IF = 0x33,
    ALINEO_OP_INSTANCES_DELETE_IF = 0x34,
    ALINEO_OP_INSTANCES_LIST = 0x35,
    ALINEO_OP_RUNS_CREATE_OR_GET = 0x40,
    ALINEO_OP_RUNS_PATCH = 0x41,
    ALINEO_OP_RUNS_GET = 0x42,
    ALINEO_OP_RUNS_FIND_ACTIVE = 0x43,
    ALINEO_OP_RUNS_PATCH_IF = 0x44,
    ALINEO_OP_RUNS_CLAIM = 0x45,
    ALINEO_OP_RUNS_LIST_BY_THREAD = 0x46,
    ALINEO_OP_RUNS_LIST = 0x47,
    ALINEO_OP_RUNS_LIST_RECLAIMABLE = 0x48,
    ALINEO_OP_RUNS_COUNT_BY_SANDBOX = 0x49,
    ALINEO_OP_RUNS_SECRET = 0x4a,
    ALINEO_OP_RUNS_DELETE = 0x4b,
    ALINEO_OP_LOG_APPEND = 0x50,
    ALINEO_OP_LOG_READ = 0x51,
    ALINEO_OP_LOG_CLOSE = 0x52,
    ALINEO_OP_LOG_TRUNCATE = 0x53,
    ALINEO_OP_LOCKS_TRY_ACQUIRE = 0x60,
    ALINEO_OP_LOCKS_RENEW = 0x61,
    ALINEO_OP_LOCKS_RELEASE = 0x62,
    ALINEO_OP_BROKER_SET = 0x70,
    ALINEO_OP_BROKER_PATCH = 0x71,
    ALINEO_OP_BROKER_REMOVE = 0x72,
    ALINEO_OP_BROKER_LIST_BINDINGS = 0x73,
    ALINEO_OP_BROKER_RESOLVE = 0x74,
    ALINEO_OP_SQL_EXEC = 0x1000,
    ALINEO_OP_BATCH_READ = 0x1010,
    ALINEO_OP_BATCH_CELL = 0x1011,
    ALINEO_OP_HTTP_SEND = 0x1020,
    ALINEO_OP_SECRET_GET = 0x1030,
    ALINEO_OP_SECRET_KEEP = 0x1031,
};

/* Columns of the entries batch of LedgerAppend. */
enum {
    ALINEO_ENTRY_SEGMENT, /* i64, index into the segments batch */
    ALINEO_ENTRY_SANDBOX_ID, /* text */
    ALINEO_ENTRY_NAME, /* text */
    ALINEO_ENTRY_STEP, /* i64 */
    ALINEO_ENTRY_BRANCH, /* i64 or null */
    ALINEO_ENTRY_EVENT, /* text */
    ALINEO_ENTRY_PAYLOAD, /* json or null */
    ALINEO_ENTRY_ERROR, /* text or null */
    ALINEO_ENTRY_TS, /* i64, Unix milliseconds */
    ALINEO_ENTRY_COLUMNS,
};

/* Columns of the segments batch of LedgerAppend. */
enum {
    ALINEO_SEGMENT_SANDBOX_ID, /* text */
    ALINEO_SEGMENT_NAME, /* text */
    ALINEO_SEGMENT_EPOCH, /* i64, the claim that it is written under */
    ALINEO_SEGMENT_PREVIOUS, /* blob, hash of the segment before it, empty for the first */
    ALINEO_SEGMENT_ID, /* blob, 16 random bytes */
    ALINEO_SEGMENT_HASH, /* blob, 32 bytes */
    ALINEO_SEGMENT_LEAVES, /* blob, 32 bytes an entry */
    ALINEO_SEGMENT_COUNT, /* i64, entries in it */
    ALINEO_SEGMENT_AFTER, /* i64, entries of the batch that follow its last one */
    ALINEO_SEGMENT_MAX_TS, /* i64, highest ts in it */
    ALINEO_SEGMENT_COLUMNS,
};

/* Columns of the pages of LedgerRead and LedgerLastCheckpoint. */
enum {
    ALINEO_ROW_ID,
    ALINEO_ROW_SANDBOX_ID,
    ALINEO_ROW_NAME,
    ALINEO_ROW_STEP,
    ALINEO_ROW_BRANCH,
    ALINEO_ROW_EVENT,
    ALINEO_ROW_PAYLOAD,
    ALINEO_ROW_ERROR,
    ALINEO_ROW_TS,
    ALINEO_ROW_COLUMNS,
};

/* Columns of the pages of LedgerListSandboxes, LedgerGetSandbox and LedgerFindSandbox. */
enum {
    ALINEO_SANDBOX_NAME,
    ALINEO_SANDBOX_ID,
    ALINEO_SANDBOX_STATUS, /* text, "running" or "completed" */
    ALINEO_SANDBOX_STARTED, /* i64, Unix milliseconds */
    ALINEO_SANDBOX_COMPLETED, /* i64 or null */
    ALINEO_SANDBOX_EXECS, /* i64 */
    ALINEO_SANDBOX_RUN_ID, /* text */
    ALINEO_SANDBOX_RESOURCE, /* text or null */
    ALINEO_SANDBOX_TEAM, /* text or null */
    ALINEO_SANDBOX_PARENT, /* text or null */
    ALINEO_SANDBOX_CREATED_ID, /* i64, id of the entry that started is of */
    ALINEO_SANDBOX_COLUMNS,
};

/* Columns of the pages of LedgerListCheckpoints. */
enum {
    ALINEO_CHECKPOINT_SNAPSHOT, /* text */
    ALINEO_CHECKPOINT_TAG, /* text or null */
    ALINEO_CHECKPOINT_CREATED, /* i64, Unix milliseconds */
    ALINEO_CHECKPOINT_ID, /* i64, id of the entry */
    ALINEO_CHECKPOINT_COLUMNS,
};

/* Columns of the page of EnvironmentList. */
enum {
    ALINEO_ENVIRONMENT_NAME,
    ALINEO_ENVIRONMENT_SNAPSHOT,
    ALINEO_ENVIRONMENT_IMAGE,
    ALINEO_ENVIRONMENT_BUILT,
    ALINEO_ENVIRONMENT_COLUMNS,
};

/* Columns of the pages of LedgerListHeads. */
enum {
    ALINEO_HEAD_NAME, /* text */
    ALINEO_HEAD_SANDBOX_ID, /* text */
    ALINEO_HEAD_EPOCH, /* i64, 0 when nobody claimed it */
    ALINEO_HEAD_HASH, /* blob, of the last segment, empty when there is none */
    ALINEO_HEAD_SEGMENT_ID, /* blob, of the last segment, empty when there is none */
    ALINEO_HEAD_ENTRIES, /* i64, that segments hold */
    ALINEO_HEAD_MAX_TS, /* i64, Unix milliseconds, of entries that segments hold */
    ALINEO_HEAD_COLUMNS,
};

/* Columns of the pages of LedgerListSegments. */
enum {
    ALINEO_STORED_FIRST_ID, /* i64, of its first entry */
    ALINEO_STORED_LAST_ID, /* i64, of its last entry */
    ALINEO_STORED_ID, /* blob, 16 bytes */
    ALINEO_STORED_PREVIOUS, /* blob, 32 bytes, empty for the first */
    ALINEO_STORED_HASH, /* blob, 32 bytes */
    ALINEO_STORED_LEAVES, /* blob, 32 bytes an entry */
    ALINEO_STORED_COLUMNS,
};

/* Columns of the pages of LedgerListTombstones. */
enum {
    ALINEO_TOMBSTONE_NAME, /* text */
    ALINEO_TOMBSTONE_SANDBOX_ID, /* text */
    ALINEO_TOMBSTONE_ENTRIES, /* i64, that went, over all deletions */
    ALINEO_TOMBSTONE_HASH, /* blob, of the last segment, empty when there was none */
    ALINEO_TOMBSTONE_DELETED, /* i64, Unix milliseconds */
    ALINEO_TOMBSTONE_COLUMNS,
};

/* Columns of the batch of LogAppend. */
enum {
    ALINEO_LOG_EVENT_RUN, /* text */
    ALINEO_LOG_EVENT_KIND, /* text */
    ALINEO_LOG_EVENT_DATA, /* blob */
    ALINEO_LOG_EVENT_BEHIND, /* i64, events of the batch that follow it */
    ALINEO_LOG_EVENT_COLUMNS,
};

/* Columns of the pages of LogRead. */
enum {
    ALINEO_LOG_OFFSET, /* i64, from 1 */
    ALINEO_LOG_TS, /* i64, the store's clock, Unix milliseconds */
    ALINEO_LOG_KIND, /* text */
    ALINEO_LOG_DATA, /* blob */
    ALINEO_LOG_COLUMNS,
};

/* Columns of the pages of InstancesGet and InstancesList. */
enum {
    ALINEO_INSTANCE_KEY, /* text */
    ALINEO_INSTANCE_PROVIDER, /* text */
    ALINEO_INSTANCE_SANDBOX_ID, /* text, the provider's */
    ALINEO_INSTANCE_SNAPSHOT, /* text or null */
    ALINEO_INSTANCE_THREAD, /* text */
    ALINEO_INSTANCE_RUN, /* text or null */
    ALINEO_INSTANCE_UPDATED, /* i64, Unix milliseconds */
    ALINEO_INSTANCE_COLUMNS,
};

/* Columns of a run, in every page of the runs group. */
enum {
    ALINEO_RUN_ID, /* text */
    ALINEO_RUN_THREAD, /* text */
    ALINEO_RUN_STATUS, /* text */
    ALINEO_RUN_STARTED, /* i64, Unix milliseconds */
    ALINEO_RUN_FINISHED, /* i64 or null */
    ALINEO_RUN_ERROR_MESSAGE, /* text or null */
    ALINEO_RUN_ERROR_CODE, /* text or null */
    ALINEO_RUN_USAGE, /* text or null, JSON */
    ALINEO_RUN_SANDBOX_KEY, /* text or null */
    ALINEO_RUN_DETACHED, /* i64 or null */
    ALINEO_RUN_CANCEL_REQUESTED, /* i64, 0 or 1, or null */
    ALINEO_RUN_DRIVER_EPOCH, /* i64 or null */
    ALINEO_RUN_COLUMNS,
};

/* Reply of conditional operations. */
typedef struct alineo_applied {
    bool applied;
} alineo_applied;

extern const alineo_type alineo_applied_type;

/* One header of the form customHeaders. */
typedef struct alineo_auth_header {
    alineo_str name;
    /* whose value it has; empty: the one that is bound */
    alineo_str credential;
} alineo_auth_header;

extern const alineo_type alineo_auth_header_type;

/* Reply of batch.cell. */
typedef struct alineo_batch_bytes {
    alineo_bytes data;
    /* length of the whole cell */
    uint64_t total;
} alineo_batch_bytes;

extern const alineo_type alineo_batch_bytes_type;

/* Request of batch.cell: a range of one text, json or blob cell. */
typedef struct alineo_batch_cell {
    uint64_t handle;
    uint64_t row;
    uint64_t column;
    uint64_t offset;
    uint64_t length;
} alineo_batch_cell;

extern const alineo_type alineo_batch_cell_type;

/* Request of batch.read: rows of a handle as a table. */
typedef struct alineo_batch_read {
    uint64_t handle;
    uint64_t first;
    /* 0: no bound but the host's */
    uint64_t max_rows;
    /* 0: the host's */
    uint64_t max_bytes;
} alineo_batch_read;

extern const alineo_type alineo_batch_read_type;

/* Reply of batch.read. */
typedef struct alineo_batch_rows {
    alineo_bytes table;
    /* first row not in the table */
    uint64_t next;
    /* row<<8 | column of each cell that was cut to null */
    uint64_t *cut;
    size_t cut_count;
} alineo_batch_rows;

extern const alineo_type alineo_batch_rows_type;

/* Puts the value in the place of a text. */
typedef struct alineo_substitution {
    alineo_str placeholder;
    /* path, query, header, body */
    alineo_str *in;
    size_t in_count;
} alineo_substitution;

extern const alineo_type alineo_substitution_type;

/* Which requests of a sandbox get a credential, and how. */
typedef struct alineo_binding {
    /* empty: https */
    alineo_str *schemes;
    size_t schemes_count;
    /* empty: 443 */
    uint64_t *ports;
    size_t ports_count;
    /* names or *.names; at least one */
    alineo_str *hosts;
    size_t hosts_count;
    /* empty: GET, POST, PUT, PATCH, DELETE */
    alineo_str *methods;
    size_t methods_count;
    /* begin with /, a * at the end matches what follows; empty: all */
    alineo_str *paths;
    size_t paths_count;
    /* bearer, basic, apiKey, customHeaders or passthrough */
    alineo_str auth;
    /* apiKey */
    alineo_str header;
    /* customHeaders */
    alineo_auth_header *headers;
    size_t headers_count;
    /* passthrough */
    alineo_substitution *substitutions;
    size_t substitutions_count;
} alineo_binding;

extern const alineo_type alineo_binding_type;

/* One binding of a sandbox. */
typedef struct alineo_named_binding {
    alineo_str name;
    alineo_binding binding;
    /* the broker can't say all of it */
    bool partial;
} alineo_named_binding;

extern const alineo_type alineo_named_binding_type;

/* Reply of broker.list_bindings. */
typedef struct alineo_broker_list_reply {
    alineo_named_binding *bindings;
    size_t bindings_count;
} alineo_broker_list_reply;

extern const alineo_type alineo_broker_list_reply_type;

/* Request of broker.list_bindings. */
typedef struct alineo_broker_list_request {
    alineo_str sandbox_id;
    /* endpoint handle */
    uint64_t egress;
} alineo_broker_list_request;

extern const alineo_type alineo_broker_list_request_type;

/* Request of broker.patch. */
typedef struct alineo_broker_patch_request {
    alineo_str sandbox_id;
    alineo_str name;
    /* endpoint handle */
    uint64_t egress;
    /* secret handle; 0: stays */
    uint64_t value;
    /* without hosts: stays */
    alineo_binding binding;
} alineo_broker_patch_request;

extern const alineo_type alineo_broker_patch_request_type;

/* Request of broker.remove. */
typedef struct alineo_broker_remove_request {
    alineo_str sandbox_id;
    alineo_str name;
    /* endpoint handle */
    uint64_t egress;
} alineo_broker_remove_request;

extern const alineo_type alineo_broker_remove_request_type;

/* Reply of broker.resolve. */
typedef struct alineo_broker_resolve_reply {
    /* secret handle */
    uint64_t value;
    /* not to be used longer than that; 0: nothing is said */
    uint64_t expires_ms;
} alineo_broker_resolve_reply;

extern const alineo_type alineo_broker_resolve_reply_type;

/* Where a credential's value comes from. */
typedef struct alineo_source {
    /* "env" or "external"; empty is "external" */
    alineo_str type;
    /* env */
    alineo_str var_name;
    /* external: in the broker's own words */
    alineo_str ref;
} alineo_source;

extern const alineo_type alineo_source_type;

/* Request of broker.resolve. */
typedef struct alineo_broker_resolve_request {
    /* empty: before there is one */
    alineo_str sandbox_id;
    alineo_str name;
    alineo_source source;
} alineo_broker_resolve_request;

extern const alineo_type alineo_broker_resolve_request_type;

/* Request of broker.set. */
typedef struct alineo_broker_set_request {
    alineo_str sandbox_id;
    alineo_str name;
    /* endpoint handle */
    uint64_t egress;
    /* secret handle */
    uint64_t value;
    alineo_binding binding;
} alineo_broker_set_request;

extern const alineo_type alineo_broker_set_request_type;

/* One complaint about a configuration key. */
typedef struct alineo_diagnostic {
    /* dotted path below [plugins.NAME.config] */
    alineo_str key;
    alineo_str message;
} alineo_diagnostic;

extern const alineo_type alineo_diagnostic_type;

/* Reply of configure. Diagnostics refuse the configuration. */
typedef struct alineo_configure_reply {
    alineo_diagnostic *diagnostics;
    size_t diagnostics_count;
} alineo_configure_reply;

extern const alineo_type alineo_configure_reply_type;

/* Request of configure. */
typedef struct alineo_configure_request {
    /* [plugins.NAME.config] as a JSON object */
    alineo_str config;
    alineo_str host_version;
    /* abilities of the host beyond the first form of version 1 */
    alineo_str *features;
    size_t features_count;
} alineo_configure_request;

extern const alineo_type alineo_configure_request_type;

/* Reply of runs.count_by_sandbox. */
typedef struct alineo_count {
    uint64_t count;
} alineo_count;

extern const alineo_type alineo_count_type;

/* Reply of ledger.delete_sandbox. */
typedef struct alineo_delete_reply {
    /* entries that this call removed */
    uint64_t rows;
    /* the deletion has not ended: ask again */
    bool more;
} alineo_delete_reply;

extern const alineo_type alineo_delete_reply_type;

/* The message without fields. */
typedef struct alineo_empty {
    char nothing;
} alineo_empty;

extern const alineo_type alineo_empty_type;

/* Reply of environment.get and request of environment.save. */
typedef struct alineo_environment {
    alineo_str name;
    alineo_str snapshot_id;
    alineo_str image;
    /* Unix milliseconds */
    int64_t built_at;
} alineo_environment;

extern const alineo_type alineo_environment_type;

/* Request of environment.get and environment.delete. */
typedef struct alineo_environment_request {
    alineo_str name;
} alineo_environment_request;

extern const alineo_type alineo_environment_request_type;

/* The one error that crosses the ABI, in both directions. */
typedef struct alineo_error {
    uint32_t code;
    /* for people */
    alineo_str message;
    bool retryable;
    /* well-known keys: entry, segment, step, row, key */
    alineo_pair *details;
    size_t details_count;
} alineo_error;

extern const alineo_type alineo_error_type;

/* Request of ledger.find_sandbox. */
typedef struct alineo_find_sandbox_request {
    alineo_str sandbox_id;
} alineo_find_sandbox_request;

extern const alineo_type alineo_find_sandbox_request_type;

/* One header of a reply. */
typedef struct alineo_http_field {
    /* canonical: Content-Type */
    alineo_str name;
    alineo_str value;
} alineo_http_field;

extern const alineo_type alineo_http_field_type;

/* A piece of a body or header. */
typedef struct alineo_http_part {
    alineo_bytes literal;
    /* handle; not 0: it stands in the place of literal */
    uint64_t secret;
    uint32_t encoding;
} alineo_http_part;

extern const alineo_type alineo_http_part_type;

/* One header of a request. */
typedef struct alineo_http_header {
    alineo_str name;
    alineo_http_part *value;
    size_t value_count;
} alineo_http_header;

extern const alineo_type alineo_http_header_type;

/* Reply of http.send. */
typedef struct alineo_http_reply {
    uint64_t status;
    alineo_http_field *headers;
    size_t headers_count;
    alineo_bytes body;
    /* handles, one of each of extract; 0 where there is no text */
    uint64_t *secrets;
    size_t secrets_count;
} alineo_http_reply;

extern const alineo_type alineo_http_reply_type;

/* Request of http.send. */
typedef struct alineo_http_request {
    /* handle that came with the call; 0: url is a whole one */
    uint64_t endpoint;
    /* with an endpoint: path and query below it */
    alineo_str url;
    /* empty: GET */
    alineo_str method;
    alineo_http_header *headers;
    size_t headers_count;
    alineo_http_part *body;
    size_t body_count;
    /* of the reply's body; 0: the host's bound */
    uint64_t max_bytes;
    /* 0: what is left of the call */
    uint64_t timeout_ms;
    /* JSON pointers: texts of the reply that become secrets */
    alineo_str *extract;
    size_t extract_count;
    /* JSON pointers: parts of the reply that become null */
    alineo_str *hide;
    size_t hide_count;
} alineo_http_request;

extern const alineo_type alineo_http_request_type;

/* Reply of ledger.open: where a sandbox's ledger stands. */
typedef struct alineo_head {
    /* the claim that may append */
    uint64_t epoch;
    /* highest step, -1 when there is none */
    int64_t last_step;
    /* highest time, Unix milliseconds, 0 when there is none */
    int64_t max_ts;
    /* rows */
    uint64_t entries;
    /* of the last segment, empty when there is none */
    alineo_bytes hash;
    /* of the last segment, empty when there is none */
    alineo_bytes segment_id;
} alineo_head;

extern const alineo_type alineo_head_type;

/* Reply of health. */
typedef struct alineo_health_reply {
    alineo_str message;
} alineo_health_reply;

extern const alineo_type alineo_health_reply_type;

/* Request of instances.put. */
typedef struct alineo_instance {
    alineo_str key;
    alineo_str provider;
    alineo_str provider_sandbox_id;
    bool has_latest_snapshot_id;
    alineo_str latest_snapshot_id;
    alineo_str thread_id;
    bool has_latest_run_id;
    alineo_str latest_run_id;
    /* Unix milliseconds; 0: the store's clock */
    int64_t updated_at;
} alineo_instance;

extern const alineo_type alineo_instance_type;

/* Request of instances.delete_if. */
typedef struct alineo_instance_delete_if {
    alineo_str key;
    /* provider sandbox id of the stored record */
    alineo_str expected;
} alineo_instance_delete_if;

extern const alineo_type alineo_instance_delete_if_type;

/* Request of instances.list. */
typedef struct alineo_instance_list_request {
    /* strictly, Unix milliseconds */
    bool has_updated_before;
    int64_t updated_before;
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
} alineo_instance_list_request;

extern const alineo_type alineo_instance_list_request_type;

/* Request of instances.put_if. */
typedef struct alineo_instance_put_if {
    alineo_instance instance;
    /* provider sandbox id of the stored record; absent: there is none */
    bool has_expected;
    alineo_str expected;
} alineo_instance_put_if;

extern const alineo_type alineo_instance_put_if_type;

/* Request that names one thing: the key of an instance, the id of a run or of a thread, the run of a log. */
typedef struct alineo_key_request {
    alineo_str key;
} alineo_key_request;

extern const alineo_type alineo_key_request_type;

/* Names one sandbox's ledger. */
typedef struct alineo_sandbox_key {
    alineo_str name;
    alineo_str sandbox_id;
} alineo_sandbox_key;

extern const alineo_type alineo_sandbox_key_type;

/* Request of ledger.last_checkpoint. */
typedef struct alineo_last_checkpoint_request {
    alineo_sandbox_key key;
    /* empty: any */
    alineo_str tag;
} alineo_last_checkpoint_request;

extern const alineo_type alineo_last_checkpoint_request_type;

/* Request of locks.renew and locks.release. */
typedef struct alineo_lease_request {
    alineo_str key;
    alineo_str token;
    /* locks.renew: from now on */
    uint64_t ttl_ms;
} alineo_lease_request;

extern const alineo_type alineo_lease_request_type;

/* Reply of ledger.append: the batch is durable. */
typedef struct alineo_ledger_append_reply {
    /* this identical batch had been applied before */
    bool already;
} alineo_ledger_append_reply;

extern const alineo_type alineo_ledger_append_reply_type;

/* Request of ledger.append. The entries stay on the host, behind handles. */
typedef struct alineo_ledger_append_request {
    /* batch handle */
    uint64_t entries;
    /* batch handle */
    uint64_t segments;
    uint64_t entry_count;
    uint64_t segment_count;
    /* bytes of text in the entries */
    uint64_t size;
} alineo_ledger_append_request;

extern const alineo_type alineo_ledger_append_request_type;

/* Request of ledger.open, which claims a sandbox's ledger for one driver. */
typedef struct alineo_ledger_open_request {
    alineo_sandbox_key key;
} alineo_ledger_open_request;

extern const alineo_type alineo_ledger_open_request_type;

/* Request of ledger.read. An empty key reads every sandbox's entries. */
typedef struct alineo_ledger_read_request {
    alineo_sandbox_key key;
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
    /* stop after the row that passes this; 0 lets the guest choose */
    uint64_t max_bytes;
    /* not 0: the page is the last so many rows at most; the cursor is empty then */
    uint64_t last;
} alineo_ledger_read_request;

extern const alineo_type alineo_ledger_read_request_type;

/* Request of ledger.list_sandboxes. What is absent or empty does not filter. */
typedef struct alineo_list_sandboxes_request {
    alineo_str name;
    alineo_str status;
    /* 0 lists nothing */
    bool has_limit;
    uint64_t limit;
    /* strictly smaller start, Unix milliseconds */
    bool has_before;
    int64_t before;
    alineo_str run_id;
    alineo_str resource_id;
    alineo_str team_id;
    alineo_bytes cursor;
    /* what the sandbox id begins with; a guest need not know it */
    alineo_str id_prefix;
} alineo_list_sandboxes_request;

extern const alineo_type alineo_list_sandboxes_request_type;

/* Reply of locks.try_acquire. */
typedef struct alineo_lock_reply {
    bool acquired;
    /* when it was acquired */
    alineo_str token;
    /* when it was acquired: higher than any that the key had */
    uint64_t fence;
    /* who holds it */
    alineo_str owner;
    /* how long, if it is not renewed */
    uint64_t left_ms;
    /* the store's clock, Unix milliseconds */
    int64_t now;
} alineo_lock_reply;

extern const alineo_type alineo_lock_reply_type;

/* Request of locks.try_acquire. */
typedef struct alineo_lock_request {
    alineo_str key;
    /* shown to those who find it busy */
    alineo_str owner;
    uint64_t ttl_ms;
} alineo_lock_request;

extern const alineo_type alineo_lock_request_type;

/* Request of log.append. */
typedef struct alineo_log_append_request {
    alineo_str run_id;
    uint64_t epoch;
    /* the offset that the log must end with */
    bool has_after;
    uint64_t after;
    /* batch handle; 0: no events */
    uint64_t events;
    uint64_t count;
    /* bytes of data */
    uint64_t size;
} alineo_log_append_request;

extern const alineo_type alineo_log_append_request_type;

/* Reply of log.read. */
typedef struct alineo_log_page {
    /* handle of the page, or 0 */
    uint64_t rows;
    /* the page itself when there is no handle */
    alineo_bytes table;
    /* offset of the last event that was ever stored */
    uint64_t tail;
    /* offset of the last event that was removed */
    uint64_t dropped;
    /* highest that the log has seen */
    uint64_t epoch;
    bool closed;
    /* there are events behind the last row */
    bool more;
} alineo_log_page;

extern const alineo_type alineo_log_page_type;

/* Request of log.read. */
typedef struct alineo_log_read_request {
    alineo_str run_id;
    /* offset that the page is behind */
    uint64_t after;
    /* most events; 0 lets the guest choose */
    uint64_t limit;
    /* stop after the event that passes this; 0 lets the guest choose */
    uint64_t max_bytes;
} alineo_log_read_request;

extern const alineo_type alineo_log_read_request_type;

/* Reply of log.append. */
typedef struct alineo_log_tail {
    /* offset of the log's last event */
    uint64_t tail;
} alineo_log_tail;

extern const alineo_type alineo_log_tail_type;

/* A capability that a guest asks for. */
typedef struct alineo_want {
    /* "sql", … */
    alineo_str name;
    /* what of it: for sql the name of a database */
    alineo_str resource;
    /* shown to the operator */
    alineo_str reason;
    /* the guest does without when it is not granted */
    bool optional;
} alineo_want;

extern const alineo_type alineo_want_type;

/* Reply of describe. */
typedef struct alineo_manifest {
    alineo_str name;
    alineo_str version;
    /* "ledger", … */
    alineo_str *kinds;
    size_t kinds_count;
    /* optional operations that it has, by name */
    alineo_str *optional;
    size_t optional_count;
    alineo_want *capabilities;
    size_t capabilities_count;
    /* JSON Schema of [plugins.NAME.config] */
    alineo_str config_schema;
    uint32_t state;
} alineo_manifest;

extern const alineo_type alineo_manifest_type;

/* Request of ledger.list_heads and ledger.list_tombstones. */
typedef struct alineo_page_request {
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
    /* stop after the row that passes this; 0 lets the guest choose */
    uint64_t max_bytes;
} alineo_page_request;

extern const alineo_type alineo_page_request_type;

/* Request of runs.list_reclaimable. */
typedef struct alineo_reclaim_request {
    /* "running" or "interrupted" */
    alineo_str status;
    uint64_t ttl_ms;
    /* what to reckon from, Unix milliseconds; 0: the store's clock */
    int64_t now;
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
} alineo_reclaim_request;

extern const alineo_type alineo_reclaim_request_type;

/* The envelope of every request from the host to a guest. */
typedef struct alineo_request {
    /* unique within the host's life */
    uint64_t call_id;
    /* milliseconds left when the call was made; 0 is none */
    uint64_t deadline_ms;
    /* W3C trace context, or empty */
    alineo_str traceparent;
    /* the operation's own message */
    alineo_bytes body;
} alineo_request;

extern const alineo_type alineo_request_type;

/* A page of rows: behind a handle when rows is not 0, else in table. */
typedef struct alineo_rows_reply {
    uint64_t rows;
    alineo_bytes table;
    /* where the next page starts, opaque */
    alineo_bytes cursor;
    bool more;
    /* the store's clock, Unix milliseconds, of operations that tell it */
    int64_t now;
} alineo_rows_reply;

extern const alineo_type alineo_rows_reply_type;

/* Request of runs.create_or_get. */
typedef struct alineo_run_create {
    alineo_str run_id;
    alineo_str thread_id;
    alineo_str status;
    /* Unix milliseconds; absent: the store's clock */
    bool has_started_at;
    int64_t started_at;
    bool has_sandbox_key;
    alineo_str sandbox_key;
    /* only runs.secret gives it out */
    alineo_bytes secret;
} alineo_run_create;

extern const alineo_type alineo_run_create_type;

/* Request of runs.list_by_thread and runs.list. */
typedef struct alineo_run_list_request {
    alineo_str thread_id;
    alineo_str status;
    /* strictly, Unix milliseconds */
    bool has_finished_before;
    int64_t finished_before;
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
} alineo_run_list_request;

extern const alineo_type alineo_run_list_request_type;

/* Request of runs.patch and runs.patch_if. */
typedef struct alineo_run_patch {
    alineo_str run_id;
    /* runs.patch_if: only a run of this driver epoch that has not ended */
    bool has_epoch;
    uint64_t epoch;
    bool has_status;
    alineo_str status;
    bool has_finished_at;
    int64_t finished_at;
    /* with it the error is replaced, code and all */
    bool has_error_message;
    alineo_str error_message;
    bool has_error_code;
    alineo_str error_code;
    /* JSON */
    alineo_bytes usage;
    bool has_sandbox_key;
    alineo_str sandbox_key;
    bool has_detached_since;
    int64_t detached_since;
    bool has_cancel_requested;
    bool cancel_requested;
    bool has_driver_epoch;
    uint64_t driver_epoch;
    /* names of fields that become absent */
    alineo_str *clear;
    size_t clear_count;
    /* names of fields that get the time of the store's clock */
    alineo_str *now;
    size_t now_count;
} alineo_run_patch;

extern const alineo_type alineo_run_patch_type;

/* Reply of operations on one run. */
typedef struct alineo_run_reply {
    uint32_t outcome;
    /* handle of a page of one row, or 0 */
    uint64_t rows;
    /* the page itself when there is no handle */
    alineo_bytes table;
} alineo_run_reply;

extern const alineo_type alineo_run_reply_type;

/* Reply of runs.secret. */
typedef struct alineo_run_secret {
    /* empty: there is none */
    alineo_bytes secret;
} alineo_run_secret;

extern const alineo_type alineo_run_secret_type;

/* One bound value, in the statement's order. */
typedef struct alineo_sql_param {
    uint32_t kind;
    /* literal: exactly one tagged value as in a table; empty is null */
    alineo_value value;
    /* column and result */
    uint32_t column;
    /* result */
    uint32_t step;
} alineo_sql_param;

extern const alineo_type alineo_sql_param_type;

/* One statement. */
typedef struct alineo_sql_step {
    alineo_str sql;
    alineo_sql_param *params;
    size_t params_count;
    /* 0: run once; else a handle: run for each of its rows */
    uint64_t batch;
    /* the same statement for many_rows rows at once; optional */
    alineo_str many_sql;
    uint64_t many_rows;
    /* rows that each run must change, or return when it returns rows */
    bool has_expect;
    uint64_t expect;
    /* when expect is not met; conflict when 0 */
    uint32_t mismatch_code;
    alineo_str mismatch_message;
    uint32_t result;
    /* 0: no bound but the host's */
    uint64_t max_rows;
    /* stop after the row that passes this; 0: no bound but the host's */
    uint64_t max_bytes;
} alineo_sql_step;

extern const alineo_type alineo_sql_step_type;

/* Request of sql.exec: a program, whose steps run in order in one transaction. */
typedef struct alineo_sql_exec {
    /* a granted database, by name */
    alineo_str database;
    bool read_only;
    /* at most 4,096, with 65,536 parameters in all of them together */
    alineo_sql_step *steps;
    size_t steps_count;
} alineo_sql_exec;

extern const alineo_type alineo_sql_exec_type;

/* What a step did. */
typedef struct alineo_sql_step_result {
    /* rows inserted, changed or deleted, over all runs */
    uint64_t affected;
    /* rows kept */
    uint64_t row_count;
    /* inline: a table */
    alineo_bytes rows;
    /* handle */
    uint64_t handle;
    /* handle: the last row kept, as a table of one row */
    alineo_bytes last;
    /* a bound ended the rows before the statement did */
    bool more;
} alineo_sql_step_result;

extern const alineo_type alineo_sql_step_result_type;

/* Reply of sql.exec: one result a step. */
typedef struct alineo_sql_exec_reply {
    alineo_sql_step_result *steps;
    size_t steps_count;
} alineo_sql_exec_reply;

extern const alineo_type alineo_sql_exec_reply_type;

/* Request of runs.count_by_sandbox. */
typedef struct alineo_sandbox_count_request {
    alineo_str sandbox_key;
    /* a run that does not count */
    alineo_str except;
} alineo_sandbox_count_request;

extern const alineo_type alineo_sandbox_count_request_type;

/* Request of ledger.list_checkpoints and ledger.list_segments. */
typedef struct alineo_sandbox_page_request {
    alineo_sandbox_key key;
    /* of the page before; empty starts at the beginning */
    alineo_bytes cursor;
    /* most rows; 0 lets the guest choose */
    uint64_t limit;
    /* stop after the row that passes this; 0 lets the guest choose */
    uint64_t max_bytes;
} alineo_sandbox_page_request;

extern const alineo_type alineo_sandbox_page_request_type;

/* Request of ledger.get_sandbox, ledger.delete_sandbox and ledger.usage. */
typedef struct alineo_sandbox_request {
    alineo_sandbox_key key;
} alineo_sandbox_request;

extern const alineo_type alineo_sandbox_request_type;

/* Request of secret.get. */
typedef struct alineo_secret_get {
    alineo_str name;
    /* one that secret.keep kept */
    bool kept;
} alineo_secret_get;

extern const alineo_type alineo_secret_get_type;

/* Request of secret.keep. */
typedef struct alineo_secret_keep {
    alineo_str name;
    /* handle; 0 forgets */
    uint64_t secret;
    /* 0: until the plugin ends */
    uint64_t ttl_ms;
    /* nothing secret */
    alineo_bytes note;
} alineo_secret_keep;

extern const alineo_type alineo_secret_keep_type;

/* Reply of secret.get. */
typedef struct alineo_secret_reply {
    /* handle */
    uint64_t secret;
    /* another number when the value is another */
    uint64_t version;
    /* of a kept one: what is left; 0: no end */
    uint64_t expires_ms;
    /* of a kept one */
    alineo_bytes note;
} alineo_secret_reply;

extern const alineo_type alineo_secret_reply_type;

/* Reply of ledger.stats. */
typedef struct alineo_stats {
    /* -1 when it can't be told cheaply */
    int64_t entries;
    /* on disk, with indexes and free space; -1 when unknown */
    int64_t storage_bytes;
    int64_t schema_version;
} alineo_stats;

extern const alineo_type alineo_stats_type;

/* Reply of ledger.usage. */
typedef struct alineo_usage {
    uint64_t entries;
    /* of payloads and errors as text */
    uint64_t bytes;
    /* Unix milliseconds, 0 without entries */
    int64_t first_ts;
    int64_t last_ts;
    /* it has sandbox.created */
    bool created;
    /* it has sandbox.closed */
    bool closed;
} alineo_usage;

extern const alineo_type alineo_usage_type;

/* What a plugin is: the manifest, and a function for each operation that it has. What is NULL answers
 * unsupported. A function fills in the reply, which begins as zeros, and returns NULL, or it returns an
 * error (see alineo_fail). Requests and whatever alineo_alloc gives are good until the call returns. */
typedef struct alineo_plugin {
    alineo_manifest manifest;
    alineo_error *(*configure)(const alineo_configure_request *request, alineo_configure_reply *reply);
    alineo_error *(*close)(const alineo_empty *request, alineo_empty *reply);
    alineo_error *(*health)(const alineo_empty *request, alineo_health_reply *reply);
    alineo_error *(*ledger_open)(const alineo_ledger_open_request *request, alineo_head *reply);
    alineo_error *(*ledger_append)(const alineo_ledger_append_request *request, alineo_ledger_append_reply *reply);
    alineo_error *(*ledger_read)(const alineo_ledger_read_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_last_checkpoint)(const alineo_last_checkpoint_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_list_checkpoints)(const alineo_sandbox_page_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_list_sandboxes)(const alineo_list_sandboxes_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_get_sandbox)(const alineo_sandbox_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_find_sandbox)(const alineo_find_sandbox_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_delete_sandbox)(const alineo_sandbox_request *request, alineo_delete_reply *reply);
    alineo_error *(*ledger_list_heads)(const alineo_page_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_list_segments)(const alineo_sandbox_page_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_list_tombstones)(const alineo_page_request *request, alineo_rows_reply *reply);
    alineo_error *(*ledger_usage)(const alineo_sandbox_request *request, alineo_usage *reply);
    alineo_error *(*ledger_stats)(const alineo_empty *request, alineo_stats *reply);
    alineo_error *(*environment_get)(const alineo_environment_request *request, alineo_environment *reply);
    alineo_error *(*environment_save)(const alineo_environment *request, alineo_empty *reply);
    alineo_error *(*environment_delete)(const alineo_environment_request *request, alineo_empty *reply);
    alineo_error *(*environment_list)(const alineo_empty *request, alineo_rows_reply *reply);
    alineo_error *(*instances_get)(const alineo_key_request *request, alineo_rows_reply *reply);
    alineo_error *(*instances_put)(const alineo_instance *request, alineo_empty *reply);
    alineo_error *(*instances_delete)(const alineo_key_request *request, alineo_empty *reply);
    alineo_error *(*instances_put_if)(const alineo_instance_put_if *request, alineo_applied *reply);
    alineo_error *(*instances_delete_if)(const alineo_instance_delete_if *request, alineo_applied *reply);
    alineo_error *(*instances_list)(const alineo_instance_list_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_create_or_get)(const alineo_run_create *request, alineo_run_reply *reply);
    alineo_error *(*runs_patch)(const alineo_run_patch *request, alineo_run_reply *reply);
    alineo_error *(*runs_get)(const alineo_key_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_find_active)(const alineo_key_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_patch_if)(const alineo_run_patch *request, alineo_run_reply *reply);
    alineo_error *(*runs_claim)(const alineo_key_request *request, alineo_run_reply *reply);
    alineo_error *(*runs_list_by_thread)(const alineo_run_list_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_list)(const alineo_run_list_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_list_reclaimable)(const alineo_reclaim_request *request, alineo_rows_reply *reply);
    alineo_error *(*runs_count_by_sandbox)(const alineo_sandbox_count_request *request, alineo_count *reply);
    alineo_error *(*runs_secret)(const alineo_key_request *request, alineo_run_secret *reply);
    alineo_error *(*runs_delete)(const alineo_key_request *request, alineo_run_reply *reply);
    alineo_error *(*log_append)(const alineo_log_append_request *request, alineo_log_tail *reply);
    alineo_error *(*log_read)(const alineo_log_read_request *request, alineo_log_page *reply);
    alineo_error *(*log_close)(const alineo_key_request *request, alineo_empty *reply);
    alineo_error *(*log_truncate)(const alineo_key_request *request, alineo_delete_reply *reply);
    alineo_error *(*locks_try_acquire)(const alineo_lock_request *request, alineo_lock_reply *reply);
    alineo_error *(*locks_renew)(const alineo_lease_request *request, alineo_applied *reply);
    alineo_error *(*locks_release)(const alineo_lease_request *request, alineo_applied *reply);
    alineo_error *(*broker_set)(const alineo_broker_set_request *request, alineo_empty *reply);
    alineo_error *(*broker_patch)(const alineo_broker_patch_request *request, alineo_empty *reply);
    alineo_error *(*broker_remove)(const alineo_broker_remove_request *request, alineo_empty *reply);
    alineo_error *(*broker_list_bindings)(const alineo_broker_list_request *request, alineo_broker_list_reply *reply);
    alineo_error *(*broker_resolve)(const alineo_broker_resolve_request *request, alineo_broker_resolve_reply *reply);
} alineo_plugin;

#endif
