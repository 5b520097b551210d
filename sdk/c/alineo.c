/* The guest's side of a call, memory, and what the host offers. */
#include "alineo.h"
#include "alineo_internal.h"

#include <stdarg.h>

#define EXPORT(name) __attribute__((export_name(name)))
#define IMPORT(module, name) __attribute__((import_module(module), import_name(name)))

IMPORT("alineo_v1", "call") uint64_t host_call(uint32_t op, const void *ptr, size_t size);
IMPORT("alineo_v1", "take") void host_take(void *ptr);
IMPORT("alineo_v1", "log") void host_log(uint32_t level, const void *ptr, size_t size);
IMPORT("wasi_snapshot_preview1", "clock_time_get") uint32_t host_clock(uint32_t clock, uint64_t precision, uint64_t *nanoseconds);
IMPORT("wasi_snapshot_preview1", "poll_oneoff") uint32_t host_poll(const uint64_t *subscriptions, uint64_t *events, size_t count, uint32_t *happened);

/* --- memory: blocks of pages, which every call uses again from the first one on --- */

#define PAGE ((size_t)64 << 10)

typedef struct block {
    struct block *next;
    size_t capacity; /* behind this header */
} block;

static block *first, *current;
static size_t used; /* of current */

static block *more(size_t size) {
    size_t pages = (size + sizeof(block) + PAGE - 1) / PAGE;
    size_t at = __builtin_wasm_memory_grow(0, pages);
    if (at == (size_t)-1) {
        alineo_log_line(ALINEO_ERROR, alineo_text("out of memory"));
        __builtin_trap();
    }
    block *b = (block *)(at * PAGE);
    *b = (block){0, pages * PAGE - sizeof(block)};
    return b;
}

void *alineo_alloc(size_t size) {
    if (size > SIZE_MAX - 2 * PAGE) __builtin_trap();
    size = (size + 15) & ~(size_t)15;
    if (!first) first = current = more(size);
    while (used + size > current->capacity) {
        if (!current->next) current->next = more(size);
        current = current->next;
        used = 0;
    }
    void *p = (char *)(current + 1) + used;
    used += size;
    __builtin_memset(p, 0, size);
    return p;
}

void alineo_reset(void) {
    current = first;
    used = 0;
}

void alineo_put(alineo_buffer_t *out, const void *bytes, size_t len) {
    if (out->len + len > out->capacity) {
        size_t capacity = out->capacity * 2 > out->len + len ? out->capacity * 2 : out->len + len + 64;
        uint8_t *larger = alineo_alloc(capacity);
        if (out->len) __builtin_memcpy(larger, out->ptr, out->len);
        out->ptr = larger;
        out->capacity = capacity;
    }
    if (len) __builtin_memcpy(out->ptr + out->len, bytes, len);
    out->len += len;
}

/* --- texts --- */

alineo_str alineo_text(const char *text) {
    size_t len = 0;
    while (text[len]) len++;
    return (alineo_str){text, len};
}

bool alineo_bytes_eq(alineo_bytes a, alineo_bytes b) {
    if (a.len != b.len) return false;
    for (size_t i = 0; i < a.len; i++) {
        if (a.ptr[i] != b.ptr[i]) return false;
    }
    return true;
}

bool alineo_str_eq(alineo_str a, alineo_str b) {
    return alineo_bytes_eq((alineo_bytes){(const uint8_t *)a.ptr, a.len}, (alineo_bytes){(const uint8_t *)b.ptr, b.len});
}

alineo_str alineo_concat(int count, ...) {
    alineo_buffer_t out = {0};
    va_list parts;
    va_start(parts, count);
    for (int i = 0; i < count; i++) {
        alineo_str part = va_arg(parts, alineo_str);
        alineo_put(&out, part.ptr, part.len);
    }
    va_end(parts);
    alineo_put(&out, "", 1);
    return (alineo_str){(const char *)out.ptr, out.len - 1};
}

alineo_str alineo_decimal(int64_t number) {
    char *end = (char *)alineo_alloc(24) + 23, *p = end;
    uint64_t n = number < 0 ? -(uint64_t)number : (uint64_t)number;
    do {
        *--p = (char)('0' + n % 10);
        n /= 10;
    } while (n);
    if (number < 0) *--p = '-';
    return (alineo_str){p, (size_t)(end - p)};
}

/* --- errors --- */

alineo_error *alineo_fail(uint32_t code, const char *message) {
    alineo_error *error = alineo_alloc(sizeof *error);
    error->code = code;
    error->message = alineo_text(message);
    return error;
}

alineo_error *alineo_detail(alineo_error *error, const char *key, uint64_t value) {
    alineo_pair *details = alineo_alloc((error->details_count + 1) * sizeof *details);
    if (error->details_count) __builtin_memcpy(details, error->details, error->details_count * sizeof *details);
    details[error->details_count++] = (alineo_pair){alineo_text(key), alineo_decimal((int64_t)value)};
    error->details = details;
    return error;
}

static alineo_error *malformed(const char *why) {
    alineo_error *error = alineo_fail(ALINEO_CODE_INVALID, "");
    error->message = alineo_concat(2, alineo_text("malformed message: "), alineo_text(why));
    return error;
}

/* --- values and tables --- */

alineo_value alineo_null(void) { return (alineo_value){0}; }
alineo_value alineo_i64(int64_t number) { return (alineo_value){.kind = ALINEO_I64, .integer = number}; }
alineo_value alineo_json_value(alineo_bytes json) { return (alineo_value){.kind = ALINEO_JSON, .bytes = json}; }
alineo_value alineo_blob_value(alineo_bytes blob) { return (alineo_value){.kind = ALINEO_BLOB, .bytes = blob}; }

alineo_value alineo_text_value(alineo_str text) {
    return (alineo_value){.kind = ALINEO_TEXT, .bytes = {(const uint8_t *)text.ptr, text.len}};
}

alineo_str alineo_value_text(alineo_value value) {
    if (value.kind != ALINEO_TEXT && value.kind != ALINEO_JSON) return (alineo_str){"", 0};
    return (alineo_str){(const char *)value.bytes.ptr, value.bytes.len};
}

alineo_error *alineo_read_table(alineo_bytes bytes, alineo_table *table) {
    *table = (alineo_table){0};
    const char *why = bytes.len ? alineo_decode_table(bytes, table) : 0;
    return why ? malformed(why) : 0;
}

alineo_writer alineo_table_begin(size_t columns) {
    alineo_writer w = {.columns = columns};
    uint32_t header[2] = {0, (uint32_t)columns};
    alineo_put(&w.out, header, sizeof header);
    return w;
}

void alineo_table_row(alineo_writer *w, const alineo_value *values) {
    for (size_t i = 0; i < w->columns; i++) alineo_write_value(&w->out, &values[i]);
    w->rows++;
}

alineo_bytes alineo_table_end(alineo_writer *w) {
    __builtin_memcpy(w->out.ptr, &w->rows, 4);
    return (alineo_bytes){w->out.ptr, w->out.len};
}

/* --- the host --- */

void alineo_log_line(uint32_t level, alineo_str line) { host_log(level, line.ptr, line.len); }

int64_t alineo_now(void) {
    uint64_t nanoseconds = 0;
    host_clock(0, 1000000, &nanoseconds);
    return (int64_t)(nanoseconds / 1000000);
}

void alineo_sleep(uint64_t milliseconds) {
    /* User data, the kind (a clock), which clock (the monotonic one), for how long, precision, and no flags. */
    uint64_t subscription[6] = {0, 0, 1, milliseconds * 1000000, 0, 0}, event[4];
    uint32_t happened;
    host_poll(subscription, event, 1, &happened);
}

alineo_error *alineo_ask(uint32_t op, const alineo_type *request_type, const void *request, const alineo_type *reply_type, void *reply) {
    alineo_buffer_t out = {0};
    alineo_encode(request_type, request, &out);
    uint64_t packed = host_call(op, out.ptr, out.len);
    size_t len = (size_t)(uint32_t)packed;
    uint8_t *answer = alineo_alloc(len + 1);
    host_take(answer);
    alineo_bytes bytes = {answer, len};
    if (packed >> 32) {
        alineo_error *error = alineo_alloc(sizeof *error);
        const char *why = alineo_decode(&alineo_error_type, error, bytes);
        return why ? malformed(why) : error;
    }
    __builtin_memset(reply, 0, reply_type->size);
    const char *why = alineo_decode(reply_type, reply, bytes);
    return why ? malformed(why) : 0;
}

alineo_error *alineo_sql(const alineo_sql_exec *program, alineo_sql_exec_reply *reply) {
    return alineo_ask(ALINEO_OP_SQL_EXEC, &alineo_sql_exec_type, program, &alineo_sql_exec_reply_type, reply);
}

alineo_error *alineo_cell(uint64_t handle, uint64_t row, uint64_t column, alineo_bytes *out) {
    alineo_buffer_t all = {0};
    for (;;) {
        alineo_batch_cell request = {.handle = handle, .row = row, .column = column, .offset = all.len};
        alineo_batch_bytes part;
        alineo_error *error = alineo_ask(ALINEO_OP_BATCH_CELL, &alineo_batch_cell_type, &request, &alineo_batch_bytes_type, &part);
        if (error) return error;
        alineo_put(&all, part.data.ptr, part.data.len);
        if (!part.data.len || all.len >= part.total) break;
    }
    *out = (alineo_bytes){all.ptr, all.len};
    return 0;
}

alineo_error *alineo_rows(uint64_t handle, alineo_table *table) {
    *table = (alineo_table){0};
    size_t capacity = 0;
    for (;;) {
        alineo_batch_read request = {.handle = handle, .first = table->rows};
        alineo_batch_rows page;
        alineo_table part;
        alineo_error *error = alineo_ask(ALINEO_OP_BATCH_READ, &alineo_batch_read_type, &request, &alineo_batch_rows_type, &page);
        if (!error) error = alineo_read_table(page.table, &part);
        if (error || !part.rows) return error;
        for (size_t i = 0; i < page.cut_count; i++) {
            uint64_t row = page.cut[i] >> 8, column = page.cut[i] & 0xff;
            if (row < table->rows || row - table->rows >= part.rows || column >= part.columns) {
                return alineo_fail(ALINEO_CODE_INTERNAL, "the host cut a cell that it did not send");
            }
            alineo_value *cell = &part.cells[(row - table->rows) * part.columns + column];
            cell->kind = ALINEO_TEXT;
            error = alineo_cell(handle, row, column, &cell->bytes);
            if (error) return error;
        }
        table->columns = part.columns;
        size_t have = table->rows * table->columns, add = part.rows * part.columns;
        if (have + add > capacity) {
            capacity = 2 * (have + add);
            alineo_value *larger = alineo_alloc(capacity * sizeof *larger);
            if (have) __builtin_memcpy(larger, table->cells, have * sizeof *larger);
            table->cells = larger;
        }
        __builtin_memcpy(table->cells + have, part.cells, add * sizeof *part.cells);
        table->rows += part.rows;
    }
}

/* --- a call --- */

/* The request's buffer, which only grows: what it outgrew stays unused. */
static uint8_t *buffer;
static size_t buffer_size;

EXPORT("alineo_abi_v1") void alineo_abi_v1(void) {}

EXPORT("alineo_buffer") uint8_t *alineo_buffer(size_t size) {
    if (!buffer || buffer_size < size) {
        block *b = more(size < PAGE / 2 ? PAGE / 2 : size);
        buffer = (uint8_t *)(b + 1);
        buffer_size = b->capacity;
    }
    return buffer;
}

static uint64_t frame(uint8_t status, const alineo_type *type, const void *message) {
    alineo_buffer_t out = {0};
    alineo_put(&out, &status, 1);
    alineo_encode(type, message, &out);
    return (uint64_t)(size_t)out.ptr << 32 | out.len;
}

static uint64_t failed(const alineo_error *error) { return frame(1, &alineo_error_type, error); }

typedef alineo_error *(*function)(const void *request, void *reply);

static uint64_t run(const alineo_operation *op, alineo_bytes body) {
    function f = *(function *)((char *)&alineo_the_plugin + op->offset);
    void *reply = alineo_alloc(op->reply->size);
    if (!f) {
        if (op->number < 0x10) return frame(0, op->reply, reply); /* configure, close and health need not be there */
        alineo_error *error = alineo_fail(ALINEO_CODE_UNSUPPORTED, "");
        error->message = alineo_concat(2, alineo_text("this plugin has no operation "), alineo_text(op->name));
        return failed(error);
    }
    void *request = alineo_alloc(op->request->size);
    const char *why = alineo_decode(op->request, request, body);
    if (why) return failed(malformed(why));
    alineo_error *error = f(request, reply);
    return error ? failed(error) : frame(0, op->reply, reply);
}

EXPORT("alineo_call") uint64_t alineo_call(uint32_t op, size_t size) {
    alineo_reset();
    alineo_request envelope = {0};
    if (size > buffer_size) return failed(alineo_fail(ALINEO_CODE_INVALID, "the request is longer than the buffer"));
    const char *why = alineo_decode(&alineo_request_type, &envelope, (alineo_bytes){buffer, size});
    if (why) return failed(malformed(why));
    if (op == ALINEO_OP_DESCRIBE) return frame(0, &alineo_manifest_type, &alineo_the_plugin.manifest);
    if (op == ALINEO_OP_ECHO) {
        alineo_buffer_t out = {0};
        alineo_put(&out, "", 1);
        alineo_put(&out, envelope.body.ptr, envelope.body.len);
        return (uint64_t)(size_t)out.ptr << 32 | out.len;
    }
    for (const alineo_operation *o = alineo_operations; o->name; o++) {
        if (o->number == op) return run(o, envelope.body);
    }
    return failed(alineo_fail(ALINEO_CODE_UNSUPPORTED, "this plugin has no such operation"));
}
