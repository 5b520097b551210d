/* Claiming, writing and deleting. A change is in the file before it is in memory. */
#include "ledger.h"

/* Larger entries are refused, so that one can't take all of the plugin's memory. */
#define MAX_ENTRY ((size_t)8 << 20)

alineo_error *op_open(const alineo_ledger_open_request *request, alineo_head *reply) {
    alineo_str name = request->key.name, id = request->key.sandbox_id;
    uint64_t epoch = the_ledger.last_epoch + 1; /* one count for all: higher than every earlier claim */
    alineo_error *error = file_open();
    if (error) return error;
    epoch = the_ledger.last_epoch + 1;
    file_begin();
    file_claim(name, id, epoch);
    if ((error = file_commit())) return error;
    the_ledger.last_epoch = epoch;
    sandbox *s = make_sandbox(name, id);
    s->epoch = epoch;
    reply->epoch = epoch;
    reply->last_step = -1;
    reply->entries = s->counted;
    reply->hash = hash_of(s);
    if (s->segment_count) reply->segment_id = s->segments[s->segment_count - 1].id;
    for (size_t i = 0; i < s->entry_count; i++) {
        if (s->entries[i].step > reply->last_step) reply->last_step = s->entries[i].step;
        if (s->entries[i].ts > reply->max_ts) reply->max_ts = s->entries[i].ts;
    }
    return 0;
}

static alineo_bytes bytes_of(alineo_value v) { return v.bytes; }

/* Whether a segment with this id and hash was applied before. */
static bool applied(const sandbox *s, const alineo_value *row) {
    for (size_t i = s->segment_count; i > 0; i--) {
        const segment *g = &s->segments[i - 1];
        if (alineo_bytes_eq(g->id, row[ALINEO_SEGMENT_ID].bytes) && alineo_bytes_eq(g->hash, row[ALINEO_SEGMENT_HASH].bytes)) return true;
    }
    return false;
}

static entry read_entry(const alineo_value *row, int64_t id) {
    entry e = {
        .id = id,
        .ts = row[ALINEO_ENTRY_TS].integer,
        .step = row[ALINEO_ENTRY_STEP].integer,
        .has_branch = row[ALINEO_ENTRY_BRANCH].kind == ALINEO_I64,
        .branch = row[ALINEO_ENTRY_BRANCH].integer,
        .name = alineo_value_text(row[ALINEO_ENTRY_NAME]),
        .sandbox = alineo_value_text(row[ALINEO_ENTRY_SANDBOX_ID]),
        .event = alineo_value_text(row[ALINEO_ENTRY_EVENT]),
        .payload = row[ALINEO_ENTRY_PAYLOAD],
        .error = row[ALINEO_ENTRY_ERROR],
    };
    if (e.payload.kind != ALINEO_NULL) e.payload.kind = ALINEO_JSON;
    if (e.error.kind != ALINEO_NULL) e.error.kind = ALINEO_TEXT;
    return e;
}

alineo_error *op_append(const alineo_ledger_append_request *request, alineo_ledger_append_reply *reply) {
    alineo_table segments, entries;
    alineo_error *error = file_open();
    if (!error) error = alineo_rows(request->segments, &segments);
    if (!error) error = alineo_rows(request->entries, &entries);
    if (error) return error;

    /* The batch is looked at whole before anything is changed. */
    bool *fresh = alineo_alloc(segments.rows);
    size_t count = 0;
    for (size_t i = 0; i < segments.rows; i++) {
        const alineo_value *row = &segments.cells[i * segments.columns];
        sandbox *s = find_sandbox(alineo_value_text(row[ALINEO_SEGMENT_NAME]), alineo_value_text(row[ALINEO_SEGMENT_SANDBOX_ID]));
        bool follows = s && s->epoch == (uint64_t)row[ALINEO_SEGMENT_EPOCH].integer;
        follows = follows && alineo_bytes_eq(hash_of(s), bytes_of(row[ALINEO_SEGMENT_PREVIOUS]));
        if (!follows && !(s && applied(s, row))) {
            return alineo_detail(alineo_fail(ALINEO_CODE_CONFLICT, "the sandbox's ledger has moved on"), "segment", i);
        }
        fresh[i] = follows;
        count += follows;
    }
    if (!count) {
        reply->already = true;
        return 0;
    }

    segment *made = alineo_alloc(segments.rows * sizeof *made);
    entry *written = alineo_alloc(entries.rows * sizeof *written);
    size_t *belongs = alineo_alloc(entries.rows * sizeof *belongs), total = 0;
    int64_t id = the_ledger.last_id;
    file_begin();
    for (size_t i = 0; i < entries.rows; i++) {
        const alineo_value *row = &entries.cells[i * entries.columns];
        size_t at = (size_t)row[ALINEO_ENTRY_SEGMENT].integer;
        if (row[ALINEO_ENTRY_SEGMENT].integer < 0 || at >= segments.rows) {
            return alineo_detail(alineo_fail(ALINEO_CODE_INVALID, "an entry of no segment"), "entry", i);
        }
        if (row[ALINEO_ENTRY_PAYLOAD].bytes.len + row[ALINEO_ENTRY_ERROR].bytes.len > MAX_ENTRY) {
            return alineo_detail(alineo_fail(ALINEO_CODE_INVALID, "an entry of more than 8 MiB, which this ledger does not take"), "entry", i);
        }
        if (!fresh[at]) continue;
        written[total] = read_entry(row, ++id);
        belongs[total] = at;
        if (!made[at].first) made[at].first = id;
        made[at].last = id;
        file_entry(&written[total++]);
    }
    for (size_t i = 0; i < segments.rows; i++) {
        const alineo_value *row = &segments.cells[i * segments.columns];
        if (!fresh[i]) continue;
        made[i].id = row[ALINEO_SEGMENT_ID].bytes;
        made[i].previous = row[ALINEO_SEGMENT_PREVIOUS].bytes;
        made[i].hash = row[ALINEO_SEGMENT_HASH].bytes;
        made[i].leaves = row[ALINEO_SEGMENT_LEAVES].bytes;
        file_segment(find_sandbox(alineo_value_text(row[ALINEO_SEGMENT_NAME]), alineo_value_text(row[ALINEO_SEGMENT_SANDBOX_ID])), &made[i]);
    }
    if ((error = file_commit())) return error;

    for (size_t i = 0; i < total; i++) add_entry(find_sandbox(written[i].name, written[i].sandbox), written[i]);
    for (size_t i = 0; i < segments.rows; i++) {
        const alineo_value *row = &segments.cells[i * segments.columns];
        if (fresh[i]) {
            add_segment(find_sandbox(alineo_value_text(row[ALINEO_SEGMENT_NAME]), alineo_value_text(row[ALINEO_SEGMENT_SANDBOX_ID])), made[i]);
        }
    }
    return 0;
}

alineo_error *op_delete(const alineo_sandbox_request *request, alineo_delete_reply *reply) {
    alineo_error *error = file_open();
    if (error) return error;
    sandbox *s = find_sandbox(request->key.name, request->key.sandbox_id);
    if (!s) return 0;
    int64_t now = alineo_now();
    file_begin();
    file_delete(request->key.name, request->key.sandbox_id, now);
    if ((error = file_commit())) return error;
    reply->rows = s->entry_count;
    remove_sandbox(request->key.name, request->key.sandbox_id, now);
    return 0;
}

alineo_error *op_environment_get(const alineo_environment_request *request, alineo_environment *reply) {
    alineo_error *error = file_open();
    if (error) return error;
    for (size_t i = 0; i < the_ledger.environment_count; i++) {
        const environment *e = &the_ledger.environments[i];
        if (compare_str(e->name, request->name) == 0) {
            *reply = (alineo_environment){e->name, e->snapshot, e->image, e->built};
            return 0;
        }
    }
    return alineo_fail(ALINEO_CODE_NOT_FOUND, "there is no environment of this name");
}

alineo_error *op_environment_save(const alineo_environment *request, alineo_empty *reply) {
    environment e = {request->name, request->snapshot_id, request->image, request->built_at};
    alineo_error *error = file_open();
    if (error) return error;
    file_begin();
    file_environment(&e);
    if ((error = file_commit())) return error;
    set_environment(e);
    return 0;
}

alineo_error *op_environment_delete(const alineo_environment_request *request, alineo_empty *reply) {
    alineo_error *error = file_open();
    if (error) return error;
    file_begin();
    file_environment_removed(request->name);
    if ((error = file_commit())) return error;
    remove_environment(request->name);
    return 0;
}
