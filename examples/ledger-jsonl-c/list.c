/* Lists of sandboxes and environments. */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

/* One sandbox, summed up. */
typedef struct details {
    alineo_str name, id, run;
    alineo_value completed, resource, team, parent;
    int64_t started, created_id, execs;
} details;

static bool is(const entry *e, const char *event) { return alineo_str_eq(e->event, alineo_text(event)); }

static alineo_value field(const entry *e, const char *key) {
    alineo_str text;
    return alineo_json_string(e->payload.bytes, key, &text) ? alineo_text_value(text) : alineo_null();
}

/* Sums a sandbox up; false when it has no sandbox.created. */
static bool sum_up(const sandbox *s, details *d) {
    bool created = false;
    *d = (details){.name = s->name, .id = s->id};
    for (size_t i = 0; i < s->entry_count; i++) {
        const entry *e = &s->entries[i];
        if (is(e, "sandbox.created") && !created) {
            created = true;
            alineo_value run = field(e, "runId");
            d->run = run.kind == ALINEO_TEXT ? alineo_value_text(run) : s->id;
            d->resource = field(e, "resourceId");
            d->team = field(e, "teamId");
            d->parent = field(e, "parentSandboxId");
            d->started = e->ts;
            d->created_id = e->id;
        } else if (is(e, "sandbox.closed")) {
            d->completed = alineo_i64(e->ts); /* entries are by time: the last one counts */
        } else if (is(e, "exec.completed")) {
            d->execs++;
        }
    }
    return created;
}

static alineo_str status_of(const details *d) { return alineo_text(d->completed.kind == ALINEO_NULL ? "running" : "completed"); }

static void put(alineo_writer *w, const details *d) {
    alineo_value row[ALINEO_SANDBOX_COLUMNS] = {
        [ALINEO_SANDBOX_NAME] = alineo_text_value(d->name),
        [ALINEO_SANDBOX_ID] = alineo_text_value(d->id),
        [ALINEO_SANDBOX_STATUS] = alineo_text_value(status_of(d)),
        [ALINEO_SANDBOX_STARTED] = alineo_i64(d->started),
        [ALINEO_SANDBOX_COMPLETED] = d->completed,
        [ALINEO_SANDBOX_EXECS] = alineo_i64(d->execs),
        [ALINEO_SANDBOX_RUN_ID] = alineo_text_value(d->run),
        [ALINEO_SANDBOX_RESOURCE] = d->resource,
        [ALINEO_SANDBOX_TEAM] = d->team,
        [ALINEO_SANDBOX_PARENT] = d->parent,
        [ALINEO_SANDBOX_CREATED_ID] = alineo_i64(d->created_id),
    };
    alineo_table_row(w, row);
}

/* Newest start first, then the highest id. */
static int newest_first(const void *a, const void *b) {
    const details *x = a, *y = b;
    if (x->started != y->started) return x->started < y->started ? 1 : -1;
    return (x->created_id < y->created_id) - (x->created_id > y->created_id);
}

static bool fits(alineo_str filter, alineo_str value) { return !filter.len || alineo_str_eq(filter, value); }

static bool begins(alineo_str text, alineo_str with) { return text.len >= with.len && (!with.len || !memcmp(text.ptr, with.ptr, with.len)); }

static bool wanted(const alineo_list_sandboxes_request *request, const details *d) {
    return fits(request->name, d->name) && fits(request->status, status_of(d)) && fits(request->run_id, d->run) &&
           fits(request->resource_id, alineo_value_text(d->resource)) && fits(request->team_id, alineo_value_text(d->team)) &&
           begins(d->id, request->id_prefix) && (!request->has_before || d->started < request->before);
}

alineo_error *op_list_sandboxes(const alineo_list_sandboxes_request *request, alineo_rows_reply *reply) {
    int64_t at[2] = {INT64_MAX, INT64_MAX};
    alineo_error *error = file_open();
    if (error) return error;
    if (request->cursor.len && request->cursor.len != sizeof at) return alineo_fail(ALINEO_CODE_INVALID, "this is no cursor of this ledger");
    if (request->cursor.len) memcpy(at, request->cursor.ptr, sizeof at);
    details *list = alineo_alloc(the_ledger.sandbox_count * sizeof *list);
    size_t count = 0;
    for (size_t i = 0; i < the_ledger.sandbox_count; i++) {
        details d;
        if (!sum_up(&the_ledger.sandboxes[i], &d) || !wanted(request, &d)) continue;
        if (d.started < at[0] || (d.started == at[0] && d.created_id < at[1])) list[count++] = d;
    }
    if (count) qsort(list, count, sizeof *list, newest_first);
    uint64_t limit = request->has_limit && request->limit < 1000 ? request->limit : 1000;
    size_t stop = count < limit ? count : (size_t)limit;
    alineo_writer w = alineo_table_begin(ALINEO_SANDBOX_COLUMNS);
    for (size_t i = 0; i < stop; i++) put(&w, &list[i]);
    reply->table = alineo_table_end(&w);
    reply->more = stop < count && limit > 0;
    reply->cursor = request->cursor;
    if (stop) {
        int64_t *last = alineo_alloc(sizeof at);
        last[0] = list[stop - 1].started;
        last[1] = list[stop - 1].created_id;
        reply->cursor = (alineo_bytes){(const uint8_t *)last, sizeof at};
    }
    return 0;
}

static alineo_error *one(const details *d, alineo_rows_reply *reply) {
    alineo_writer w = alineo_table_begin(ALINEO_SANDBOX_COLUMNS);
    if (d) put(&w, d);
    reply->table = alineo_table_end(&w);
    return 0;
}

alineo_error *op_get_sandbox(const alineo_sandbox_request *request, alineo_rows_reply *reply) {
    details d;
    alineo_error *error = file_open();
    if (error) return error;
    sandbox *s = find_sandbox(request->key.name, request->key.sandbox_id);
    return one(s && sum_up(s, &d) ? &d : 0, reply);
}

alineo_error *op_find_sandbox(const alineo_find_sandbox_request *request, alineo_rows_reply *reply) {
    details d, best = {0};
    bool found = false;
    alineo_error *error = file_open();
    if (error) return error;
    for (size_t i = 0; i < the_ledger.sandbox_count; i++) {
        const sandbox *s = &the_ledger.sandboxes[i];
        if (compare_str(s->id, request->sandbox_id) != 0 || !sum_up(s, &d)) continue;
        if (!found || newest_first(&d, &best) < 0) best = d;
        found = true;
    }
    return one(found ? &best : 0, reply);
}

static int newest_built(const void *a, const void *b) {
    const environment *x = a, *y = b;
    return (x->built < y->built) - (x->built > y->built);
}

alineo_error *op_environment_list(const alineo_empty *request, alineo_rows_reply *reply) {
    alineo_error *error = file_open();
    if (error) return error;
    size_t count = the_ledger.environment_count;
    environment *list = alineo_alloc(count * sizeof *list);
    if (count) {
        memcpy(list, the_ledger.environments, count * sizeof *list);
        qsort(list, count, sizeof *list, newest_built);
    }
    alineo_writer w = alineo_table_begin(ALINEO_ENVIRONMENT_COLUMNS);
    for (size_t i = 0; i < count; i++) {
        alineo_value row[ALINEO_ENVIRONMENT_COLUMNS] = {
            [ALINEO_ENVIRONMENT_NAME] = alineo_text_value(list[i].name),
            [ALINEO_ENVIRONMENT_SNAPSHOT] = alineo_text_value(list[i].snapshot),
            [ALINEO_ENVIRONMENT_IMAGE] = alineo_text_value(list[i].image),
            [ALINEO_ENVIRONMENT_BUILT] = alineo_i64(list[i].built),
        };
        alineo_table_row(&w, row);
    }
    reply->table = alineo_table_end(&w);
    return 0;
}
