/* Write a plugin of alineo-host in C. README.md beside this file begins with a whole one.
 *
 * Compile alineo.c, alineo_codec.c and alineo_messages.c with your own files. No libc is needed; with one
 * (wasi-libc) everything works too.
 *
 * Memory: what alineo_alloc gives, and every request, lives until the operation returns; then all of it is
 * used again. There is nothing to free. What must stay longer is yours to copy. */
#ifndef ALINEO_H
#define ALINEO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Text in UTF-8. Texts of requests have a NUL behind them, which len does not count; they may also hold
 * some. */
typedef struct alineo_str {
    const char *ptr;
    size_t len;
} alineo_str;

/* A literal as a text, in initializers of the manifest: .name = ALINEO_STR("mine") */
#define ALINEO_STR(literal) {(literal), sizeof(literal) - 1}

typedef struct alineo_bytes {
    const uint8_t *ptr;
    size_t len;
} alineo_bytes;

/* An entry of a map. */
typedef struct alineo_pair {
    alineo_str key;
    alineo_str value;
} alineo_pair;

/* Kinds of values. Larger ones are of a later version: they have bytes, and are passed over. */
enum {
    ALINEO_NULL = 0,
    ALINEO_I64 = 1,
    ALINEO_F64 = 2,
    ALINEO_BOOL = 3,
    ALINEO_TEXT = 4,
    ALINEO_JSON = 5,
    ALINEO_BLOB = 6,
};

/* One typed value: integer is for i64 and bool, bytes for text, JSON and blobs. */
typedef struct alineo_value {
    uint8_t kind;
    int64_t integer;
    double real;
    alineo_bytes bytes;
} alineo_value;

/* A message's type, for alineo_call. */
typedef struct alineo_type alineo_type;

#include "alineo_messages.h"

/* --- memory ------------------------------------------------------------------------------------------- */

/* size bytes of zeros until the operation returns. Never NULL: a plugin without memory ends. */
void *alineo_alloc(size_t size);

/* Text of C, not copied. */
alineo_str alineo_text(const char *text);
bool alineo_str_eq(alineo_str a, alineo_str b);
bool alineo_bytes_eq(alineo_bytes a, alineo_bytes b);
/* Text of some parts, in this order: alineo_concat(2, a, b). */
alineo_str alineo_concat(int count, ...);
/* A number in decimal. */
alineo_str alineo_decimal(int64_t number);

/* --- errors ------------------------------------------------------------------------------------------- */

/* An error with a code (ALINEO_CODE_CONFLICT, …) to return. */
alineo_error *alineo_fail(uint32_t code, const char *message);
/* Adds a detail, such as "entry" or "segment" with an index, and returns the error. */
alineo_error *alineo_detail(alineo_error *error, const char *key, uint64_t value);

/* --- values and tables ------------------------------------------------------------------------------------ */

alineo_value alineo_null(void);
alineo_value alineo_i64(int64_t number);
alineo_value alineo_text_value(alineo_str text);
alineo_value alineo_json_value(alineo_bytes json);
alineo_value alineo_blob_value(alineo_bytes blob);
/* The text of a text or JSON value; empty for others. */
alineo_str alineo_value_text(alineo_value value);

/* Rows that were read: the cell of a row and a column is cells[row * columns + column]. */
typedef struct alineo_table {
    size_t rows;
    size_t columns;
    alineo_value *cells;
} alineo_table;

/* Reads a table; no bytes are one without rows. */
alineo_error *alineo_read_table(alineo_bytes bytes, alineo_table *table);

/* Bytes that grow. */
typedef struct alineo_buffer_t {
    uint8_t *ptr;
    size_t len;
    size_t capacity;
} alineo_buffer_t;

/* Writes a table row by row: begin, then rows of as many values as there are columns, then end. */
typedef struct alineo_writer {
    alineo_buffer_t out;
    size_t columns;
    uint32_t rows;
} alineo_writer;

alineo_writer alineo_table_begin(size_t columns);
void alineo_table_row(alineo_writer *writer, const alineo_value *values);
alineo_bytes alineo_table_end(alineo_writer *writer);

/* --- JSON --------------------------------------------------------------------------------------------- */

/* The string under a key of a JSON object that somebody else wrote; false when there is none. */
bool alineo_json_string(alineo_bytes json, const char *key, alineo_str *out);

/* Kinds of JSON values; NONE is what is not there. */
enum {
    ALINEO_JSON_NONE = 0,
    ALINEO_JSON_WORD = 1, /* a number, true, false or null */
    ALINEO_JSON_STRING = 2,
    ALINEO_JSON_ARRAY = 3,
    ALINEO_JSON_OBJECT = 4,
};

/* A JSON value that was read: text is what a string says, or a word as it was written; items are the values of an
 * array or object, and keys what an object has them under. */
typedef struct alineo_json {
    uint8_t kind;
    alineo_str text;
    struct alineo_json *items;
    alineo_str *keys;
    size_t count;
} alineo_json;

/* Reads a document; false when it is no JSON. */
bool alineo_json_parse(alineo_bytes json, alineo_json *out);
/* What is under a key of an object, or a value of kind NONE; never NULL. */
const alineo_json *alineo_json_get(const alineo_json *object, const char *key);
/* A number without a fraction; false when it is none. */
bool alineo_json_integer(const alineo_json *value, int64_t *out);
/* A text as JSON writes it, with its quotes. */
alineo_str alineo_json_quoted(alineo_str text);

/* --- the host ------------------------------------------------------------------------------------------- */

enum { ALINEO_TRACE = 1, ALINEO_DEBUG = 2, ALINEO_INFO = 3, ALINEO_WARN = 4, ALINEO_ERROR = 5 };

/* Writes a log line. */
void alineo_log_line(uint32_t level, alineo_str line);
/* The time, in Unix milliseconds. */
int64_t alineo_now(void);

/* Waits. What is left of the call's time goes on. */
void alineo_sleep(uint64_t milliseconds);

/* Asks the host for an operation: alineo_ask(ALINEO_OP_SQL_EXEC, &alineo_sql_exec_type, &request,
 * &alineo_sql_exec_reply_type, &reply). */
alineo_error *alineo_ask(uint32_t op, const alineo_type *request_type, const void *request, const alineo_type *reply_type, void *reply);
/* Runs a program on a granted database, in one transaction. */
alineo_error *alineo_sql(const alineo_sql_exec *program, alineo_sql_exec_reply *reply);
/* All rows behind a handle, cells of any size included. For batches that fit into the plugin's memory. */
alineo_error *alineo_rows(uint64_t handle, alineo_table *table);
/* The whole of one text, JSON or blob cell. */
alineo_error *alineo_cell(uint64_t handle, uint64_t row, uint64_t column, alineo_bytes *out);

/* Sends a request to an address that was granted, or to an endpoint that came with the running call. Any status is a
 * reply; code UNKNOWN_OUTCOME says that the request may have arrived. */
alineo_error *alineo_http(const alineo_http_request *request, alineo_http_reply *reply);
/* A piece of a request as it stands. For a secret: (alineo_http_part){.secret = handle, .encoding =
 * ALINEO_PART_ENCODING_JSON}. */
alineo_http_part alineo_http_literal(alineo_str text);
/* A header without secrets. */
alineo_http_header alineo_http_text_header(const char *name, alineo_str value);
/* The first header of a reply with that name, whatever the case of its letters, or no text. */
alineo_str alineo_http_value(const alineo_http_reply *reply, const char *name);

/* Secrets stay on the host; what the plugin has is a handle, which is good until the running call ends. */

/* A secret that [plugins.NAME.grant] in alineo.toml names, read anew. Its version is another when the value is. */
alineo_error *alineo_granted_secret(alineo_str name, alineo_secret_reply *reply);
/* What was kept under a name; code NOT_FOUND when nothing is, or its time is over. */
alineo_error *alineo_kept_secret(alineo_str name, alineo_secret_reply *reply);
/* Keeps a secret on the host for so many milliseconds, 0 being for as long as the plugin lives, for all instances of
 * this plugin. The note comes back with it and is no secret. The handle 0 forgets. */
alineo_error *alineo_keep_secret(alineo_str name, uint64_t secret, uint64_t ttl_ms, alineo_bytes note);

/* --- the plugin ----------------------------------------------------------------------------------------- */

/* The one plugin that a module is: define it. */
extern alineo_plugin alineo_the_plugin;

#endif
