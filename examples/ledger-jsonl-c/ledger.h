/* What the files of this plugin share. */
#ifndef LEDGER_H
#define LEDGER_H

#include "alineo.h"

/* One entry. Texts are the store's own, until the entry is deleted. */
typedef struct entry {
    int64_t id, ts, step, branch;
    bool has_branch;
    alineo_str name, sandbox, event;
    alineo_value payload, error; /* null, or text */
} entry;

typedef struct segment {
    int64_t first, last;
    alineo_bytes id, previous, hash, leaves;
} segment;

typedef struct sandbox {
    alineo_str name, id;
    uint64_t epoch;
    int64_t max_ts;
    size_t counted; /* entries that segments hold */
    segment *segments;
    size_t segment_count;
    entry *entries; /* by (ts, id) */
    size_t entry_count;
} sandbox;

typedef struct tombstone {
    alineo_str name, id;
    size_t entries;
    alineo_bytes hash;
    int64_t deleted;
} tombstone;

typedef struct environment {
    alineo_str name, snapshot, image;
    int64_t built;
} environment;

typedef struct ledger {
    sandbox *sandboxes; /* by (name, id) */
    size_t sandbox_count;
    tombstone *tombstones;
    size_t tombstone_count;
    environment *environments;
    size_t environment_count;
    int64_t last_id;
    uint64_t last_epoch;
    size_t entry_count;
} ledger;

extern ledger the_ledger;

/* store.c: what is in memory. Growing keeps everything; without memory the plugin ends. */
void *keep(const void *bytes, size_t len);
alineo_str keep_str(alineo_str text);
alineo_bytes keep_bytes(alineo_bytes bytes);
void *grow(void *list, size_t count, size_t size);
int compare_str(alineo_str a, alineo_str b);
sandbox *find_sandbox(alineo_str name, alineo_str id);
sandbox *make_sandbox(alineo_str name, alineo_str id);
alineo_bytes hash_of(const sandbox *s);
void add_entry(sandbox *s, entry e);
void add_segment(sandbox *s, segment g);
void remove_sandbox(alineo_str name, alineo_str id, int64_t deleted);
void set_environment(environment e);
void remove_environment(alineo_str name);

/* file.c: the file, which has every change. */
alineo_error *file_open(void);
/* A change begins, is written record by record, and is durable when file_commit returns NULL. */
void file_begin(void);
void file_entry(const entry *e);
void file_segment(const sandbox *s, const segment *g);
void file_claim(alineo_str name, alineo_str id, uint64_t epoch);
void file_delete(alineo_str name, alineo_str id, int64_t deleted);
void file_environment(const environment *e);
void file_environment_removed(alineo_str name);
alineo_error *file_commit(void);

/* The operations, by file. */
alineo_error *op_open(const alineo_ledger_open_request *request, alineo_head *reply);
alineo_error *op_append(const alineo_ledger_append_request *request, alineo_ledger_append_reply *reply);
alineo_error *op_delete(const alineo_sandbox_request *request, alineo_delete_reply *reply);
alineo_error *op_environment_get(const alineo_environment_request *request, alineo_environment *reply);
alineo_error *op_environment_save(const alineo_environment *request, alineo_empty *reply);
alineo_error *op_environment_delete(const alineo_environment_request *request, alineo_empty *reply);

alineo_error *op_read(const alineo_ledger_read_request *request, alineo_rows_reply *reply);
alineo_error *op_last_checkpoint(const alineo_last_checkpoint_request *request, alineo_rows_reply *reply);
alineo_error *op_list_checkpoints(const alineo_sandbox_page_request *request, alineo_rows_reply *reply);

alineo_error *op_list_sandboxes(const alineo_list_sandboxes_request *request, alineo_rows_reply *reply);
alineo_error *op_get_sandbox(const alineo_sandbox_request *request, alineo_rows_reply *reply);
alineo_error *op_find_sandbox(const alineo_find_sandbox_request *request, alineo_rows_reply *reply);
alineo_error *op_environment_list(const alineo_empty *request, alineo_rows_reply *reply);

#endif
