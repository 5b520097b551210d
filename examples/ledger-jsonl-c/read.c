/* Pages of entries and checkpoints. */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

#define ROWS 1000
#define MAX_ROWS 65536
#define BYTES ((uint64_t)1 << 20)
#define MAX_BYTES ((uint64_t)12 << 20)

/* A page that is being filled. */
typedef struct bounds {
    uint64_t rows, bytes, count, used;
} bounds;

static bounds bounds_of(uint64_t limit, uint64_t max_bytes) {
    bounds b = {.rows = limit ? limit : ROWS, .bytes = max_bytes ? max_bytes : BYTES};
    if (b.rows > MAX_ROWS) b.rows = MAX_ROWS;
    if (b.bytes > MAX_BYTES) b.bytes = MAX_BYTES;
    return b;
}

/* Whether one more row may come: a page ends with the row that passes the bytes, and always has one. */
static bool admits(bounds *b, uint64_t size) {
    if (b->count == b->rows || (b->count && (b->used > b->bytes || b->used + size > MAX_BYTES))) return false;
    b->count++;
    b->used += size;
    return true;
}

/* The same for a page that is cut at its beginning: what passes the bytes is not in it. */
static bool holds(bounds *b, uint64_t size) { return (!b->count || b->used + size <= b->bytes) && admits(b, size); }

static uint64_t size_of(const entry *e) { return 100 + e->payload.bytes.len + e->error.bytes.len; }

typedef struct position {
    int64_t ts, id;
} position;

static alineo_bytes cursor(int64_t ts, int64_t id) {
    position *p = alineo_alloc(sizeof *p);
    *p = (position){ts, id};
    return (alineo_bytes){(const uint8_t *)p, sizeof *p};
}

static alineo_error *read_cursor(alineo_bytes bytes, position *at) {
    if (bytes.len == sizeof *at) {
        memcpy(at, bytes.ptr, sizeof *at);
    } else if (bytes.len) {
        return alineo_fail(ALINEO_CODE_INVALID, "this is no cursor of this ledger");
    }
    return 0;
}

static bool is_behind(const entry *e, position at) { return e->ts > at.ts || (e->ts == at.ts && e->id > at.id); }

static void put_entry(alineo_writer *w, const entry *e) {
    alineo_value row[ALINEO_ROW_COLUMNS] = {
        [ALINEO_ROW_ID] = alineo_i64(e->id),
        [ALINEO_ROW_SANDBOX_ID] = alineo_text_value(e->sandbox),
        [ALINEO_ROW_NAME] = alineo_text_value(e->name),
        [ALINEO_ROW_STEP] = alineo_i64(e->step),
        [ALINEO_ROW_BRANCH] = e->has_branch ? alineo_i64(e->branch) : alineo_null(),
        [ALINEO_ROW_EVENT] = alineo_text_value(e->event),
        [ALINEO_ROW_PAYLOAD] = e->payload,
        [ALINEO_ROW_ERROR] = e->error,
        [ALINEO_ROW_TS] = alineo_i64(e->ts),
    };
    alineo_table_row(w, row);
}

static int by_id(const void *a, const void *b) {
    int64_t x = (*(const entry *const *)a)->id, y = (*(const entry *const *)b)->id;
    return (x > y) - (x < y);
}

/* The entries of a key, or of every sandbox by id. */
static const entry **select_entries(alineo_sandbox_key key, bool all, size_t *count) {
    sandbox *s = all ? 0 : find_sandbox(key.name, key.sandbox_id);
    size_t n = 0;
    const entry **list = alineo_alloc((all ? the_ledger.entry_count : s ? s->entry_count : 0) * sizeof *list);
    for (size_t k = 0; k < the_ledger.sandbox_count; k++) {
        const sandbox *from = &the_ledger.sandboxes[k];
        if (!all && from != s) continue;
        for (size_t i = 0; i < from->entry_count; i++) list[n++] = &from->entries[i];
    }
    if (all) qsort(list, n, sizeof *list, by_id);
    *count = n;
    return list;
}

alineo_error *op_read(const alineo_ledger_read_request *request, alineo_rows_reply *reply) {
    bool all = !request->key.name.len && !request->key.sandbox_id.len;
    position at = {INT64_MIN, INT64_MIN};
    alineo_error *error = file_open();
    if (!error) error = read_cursor(request->cursor, &at);
    if (error) return error;
    if (request->last && request->cursor.len) return alineo_fail(ALINEO_CODE_INVALID, "the last entries have no cursor that they come behind");
    size_t count, begin = 0, stop;
    const entry **list = select_entries(request->key, all, &count);
    uint64_t limit = request->limit;
    if (request->last && (!limit || request->last < limit)) limit = request->last;
    bounds b = bounds_of(limit, request->max_bytes);
    if (request->last) {
        stop = begin = count;
        while (begin > 0 && holds(&b, size_of(list[begin - 1]))) begin--;
    } else {
        while (begin < count && !(all ? list[begin]->id > at.id : is_behind(list[begin], at))) begin++;
        stop = begin;
        while (stop < count && admits(&b, size_of(list[stop]))) stop++;
        reply->more = stop < count;
    }
    alineo_writer w = alineo_table_begin(ALINEO_ROW_COLUMNS);
    for (size_t i = begin; i < stop; i++) put_entry(&w, list[i]);
    reply->table = alineo_table_end(&w);
    reply->cursor = stop > begin ? cursor(all ? 0 : list[stop - 1]->ts, list[stop - 1]->id) : request->cursor;
    return 0;
}

static bool is_checkpoint(const entry *e) { return alineo_str_eq(e->event, alineo_text("sandbox.checkpoint_created")); }

alineo_error *op_last_checkpoint(const alineo_last_checkpoint_request *request, alineo_rows_reply *reply) {
    alineo_error *error = file_open();
    if (error) return error;
    sandbox *s = find_sandbox(request->key.name, request->key.sandbox_id);
    alineo_writer w = alineo_table_begin(ALINEO_ROW_COLUMNS);
    for (size_t i = s ? s->entry_count : 0; i > 0; i--) {
        const entry *e = &s->entries[i - 1];
        alineo_str tag;
        if (!is_checkpoint(e)) continue;
        if (request->tag.len && !(alineo_json_string(e->payload.bytes, "name", &tag) && alineo_str_eq(tag, request->tag))) continue;
        put_entry(&w, e);
        break;
    }
    reply->table = alineo_table_end(&w);
    return 0;
}

alineo_error *op_list_checkpoints(const alineo_sandbox_page_request *request, alineo_rows_reply *reply) {
    position at = {INT64_MIN, INT64_MIN};
    alineo_error *error = file_open();
    if (!error) error = read_cursor(request->cursor, &at);
    if (error) return error;
    bounds b = bounds_of(request->limit, request->max_bytes);
    sandbox *s = find_sandbox(request->key.name, request->key.sandbox_id);
    alineo_writer w = alineo_table_begin(ALINEO_CHECKPOINT_COLUMNS);
    reply->cursor = request->cursor;
    for (size_t i = 0; s && i < s->entry_count; i++) {
        const entry *e = &s->entries[i];
        alineo_str snapshot = {"", 0}, tag;
        if (!is_checkpoint(e) || !is_behind(e, at)) continue;
        if (!admits(&b, size_of(e))) {
            reply->more = true;
            break;
        }
        alineo_json_string(e->payload.bytes, "snapshotId", &snapshot);
        bool tagged = alineo_json_string(e->payload.bytes, "name", &tag);
        alineo_value row[ALINEO_CHECKPOINT_COLUMNS] = {
            [ALINEO_CHECKPOINT_SNAPSHOT] = alineo_text_value(snapshot),
            [ALINEO_CHECKPOINT_TAG] = tagged ? alineo_text_value(tag) : alineo_null(),
            [ALINEO_CHECKPOINT_CREATED] = alineo_i64(e->ts),
            [ALINEO_CHECKPOINT_ID] = alineo_i64(e->id),
        };
        alineo_table_row(&w, row);
        reply->cursor = cursor(e->ts, e->id);
    }
    reply->table = alineo_table_end(&w);
    return 0;
}
