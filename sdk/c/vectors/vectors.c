/* A module for the golden vectors of the ABI: what it decodes it encodes again. */
#include "../alineo.h"
#include "../alineo_internal.h"

alineo_plugin alineo_the_plugin = {.manifest = {.name = {"vectors", 7}, .version = {"1.0.0", 5}}};

uint8_t *alineo_buffer(size_t size);

static uint64_t answer(uint8_t status, const alineo_buffer_t *encoded) {
    alineo_buffer_t out = {0};
    alineo_put(&out, &status, 1);
    if (encoded) alineo_put(&out, encoded->ptr, encoded->len);
    return (uint64_t)(size_t)out.ptr << 32 | out.len;
}

/* Reads a name, a NUL and bytes from the buffer. The answer's first byte is 0, and the encoding follows; 1, the
 * bytes were refused; or 2, the name is unknown. */
__attribute__((export_name("recode"))) uint64_t recode(size_t size) {
    alineo_reset();
    const char *request = (const char *)alineo_buffer(size);
    alineo_str name = alineo_text(request);
    alineo_bytes bytes = {(const uint8_t *)request + name.len + 1, size - name.len - 1};
    alineo_buffer_t out = {0};
    if (alineo_str_eq(name, alineo_text("table"))) {
        alineo_table table;
        if (alineo_decode_table(bytes, &table)) return answer(1, 0);
        alineo_writer writer = alineo_table_begin(table.columns);
        for (size_t row = 0; row < table.rows; row++) alineo_table_row(&writer, &table.cells[row * table.columns]);
        alineo_bytes encoded = alineo_table_end(&writer);
        alineo_put(&out, encoded.ptr, encoded.len);
        return answer(0, &out);
    }
    for (const alineo_type *const *type = alineo_types; *type; type++) {
        if (!alineo_str_eq(name, alineo_text((*type)->name))) continue;
        void *message = alineo_alloc((*type)->size);
        if (alineo_decode(*type, message, bytes)) return answer(1, 0);
        alineo_encode(*type, message, &out);
        return answer(0, &out);
    }
    return answer(2, 0);
}
