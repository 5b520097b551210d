/* What the SDK's own files share. A plugin needs none of it. */
#ifndef ALINEO_INTERNAL_H
#define ALINEO_INTERNAL_H

#include "alineo.h"

enum {
    ALINEO_KIND_UINT32,
    ALINEO_KIND_UINT64,
    ALINEO_KIND_INT64,
    ALINEO_KIND_SINT64,
    ALINEO_KIND_BOOL,
    ALINEO_KIND_STRING,
    ALINEO_KIND_BYTES,
    ALINEO_KIND_VALUE,
    ALINEO_KIND_MESSAGE,
    ALINEO_KIND_MAP,
};

enum { ALINEO_LABEL_SINGLE, ALINEO_LABEL_OPTIONAL, ALINEO_LABEL_REPEATED };

/* One field: where it is in the struct, and where its count or has_ is. */
typedef struct alineo_field {
    uint32_t number;
    uint8_t kind;
    uint8_t label;
    size_t offset;
    size_t extra;
    const alineo_type *type;
} alineo_field;

struct alineo_type {
    const char *name;
    size_t size;
    const alineo_field *fields;
    size_t count;
};

typedef struct alineo_operation {
    uint32_t number;
    const char *name;
    const alineo_type *request;
    const alineo_type *reply;
    size_t offset; /* of the function in alineo_plugin */
} alineo_operation;

/* Both end with zeros. */
extern const alineo_type *const alineo_types[];
extern const alineo_operation alineo_operations[];

/* NULL, or why the bytes are no such message. Fields are merged into what is there. */
const char *alineo_decode(const alineo_type *type, void *message, alineo_bytes bytes);
void alineo_encode(const alineo_type *type, const void *message, alineo_buffer_t *out);
const char *alineo_read_value(alineo_bytes *rest, alineo_value *value);
void alineo_write_value(alineo_buffer_t *out, const alineo_value *value);
/* Reads a table whose header is there. */
const char *alineo_decode_table(alineo_bytes bytes, alineo_table *table);

void alineo_put(alineo_buffer_t *out, const void *bytes, size_t len);
void alineo_reset(void);

#endif
