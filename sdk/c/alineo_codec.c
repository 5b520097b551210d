/* Messages and tables: abi/ABI.md, sections 3 and 5. */
#include "alineo_internal.h"

#define MAX_ELEMENTS 65536
#define MAX_COLUMNS 32767

static const char *const too_short = "it ends too early";

static const char *read_varint(alineo_bytes *in, uint64_t *out) {
    uint64_t value = 0;
    for (unsigned i = 0; i < 10; i++) {
        if (i >= in->len) return too_short;
        uint8_t byte = in->ptr[i];
        if (i == 9 && byte > 1) return "number of more than 64 bits";
        value |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            in->ptr += i + 1;
            in->len -= i + 1;
            *out = value;
            return 0;
        }
    }
    return "number of more than 64 bits";
}

static const char *read_bytes(alineo_bytes *in, alineo_bytes *out) {
    uint64_t len;
    const char *why = read_varint(in, &len);
    if (why) return why;
    if (len > in->len) return too_short;
    out->ptr = in->ptr;
    out->len = (size_t)len;
    in->ptr += len;
    in->len -= (size_t)len;
    return 0;
}

static bool is_utf8(alineo_bytes b) {
    for (size_t i = 0; i < b.len;) {
        uint8_t c = b.ptr[i];
        size_t n = c < 0x80 ? 1 : c >= 0xc2 && c < 0xe0 ? 2 : c >= 0xe0 && c < 0xf0 ? 3 : c >= 0xf0 && c < 0xf5 ? 4 : 0;
        if (n == 0 || n > b.len - i) return false;
        for (size_t k = 1; k < n; k++) {
            if ((b.ptr[i + k] & 0xc0) != 0x80) return false;
        }
        if (n > 2) {
            uint8_t d = b.ptr[i + 1];
            if ((c == 0xe0 && d < 0xa0) || (c == 0xed && d >= 0xa0) || (c == 0xf0 && d < 0x90) || (c == 0xf4 && d >= 0x90)) return false;
        }
        i += n;
    }
    return true;
}

static const char *read_string(alineo_bytes *in, alineo_str *out) {
    alineo_bytes raw;
    const char *why = read_bytes(in, &raw);
    if (why) return why;
    if (!is_utf8(raw)) return "string is not UTF-8";
    char *copy = alineo_alloc(raw.len + 1);
    __builtin_memcpy(copy, raw.ptr, raw.len);
    out->ptr = copy;
    out->len = raw.len;
    return 0;
}

static const char *skip(alineo_bytes *in, uint32_t wire) {
    uint64_t number;
    alineo_bytes raw;
    size_t n = wire == 1 ? 8 : 4;
    switch (wire) {
    case 0:
        return read_varint(in, &number);
    case 2:
        return read_bytes(in, &raw);
    case 1:
    case 5:
        if (in->len < n) return too_short;
        in->ptr += n;
        in->len -= n;
        return 0;
    }
    return "unknown wire type";
}

static size_t size_of(const alineo_field *f) {
    switch (f->kind) {
    case ALINEO_KIND_UINT32:
        return sizeof(uint32_t);
    case ALINEO_KIND_BOOL:
        return sizeof(bool);
    case ALINEO_KIND_STRING:
        return sizeof(alineo_str);
    case ALINEO_KIND_BYTES:
        return sizeof(alineo_bytes);
    case ALINEO_KIND_VALUE:
        return sizeof(alineo_value);
    case ALINEO_KIND_MAP:
        return sizeof(alineo_pair);
    case ALINEO_KIND_MESSAGE:
        return f->type->size;
    default:
        return sizeof(uint64_t);
    }
}

static bool is_number(uint8_t kind) { return kind <= ALINEO_KIND_BOOL; }

static void store_number(uint8_t kind, void *at, uint64_t n) {
    switch (kind) {
    case ALINEO_KIND_UINT32:
        *(uint32_t *)at = (uint32_t)n;
        break;
    case ALINEO_KIND_BOOL:
        *(bool *)at = n != 0;
        break;
    case ALINEO_KIND_SINT64:
        *(int64_t *)at = (int64_t)(n >> 1) ^ -(int64_t)(n & 1);
        break;
    default:
        *(uint64_t *)at = n;
    }
}

static uint64_t load_number(uint8_t kind, const void *at) {
    switch (kind) {
    case ALINEO_KIND_UINT32:
        return *(const uint32_t *)at;
    case ALINEO_KIND_BOOL:
        return *(const bool *)at;
    case ALINEO_KIND_SINT64: {
        int64_t n = *(const int64_t *)at;
        return (uint64_t)n << 1 ^ (uint64_t)(n >> 63);
    }
    default:
        return *(const uint64_t *)at;
    }
}

static const char *read_entry(alineo_bytes raw, alineo_pair *pair) {
    *pair = (alineo_pair){{"", 0}, {"", 0}};
    while (raw.len) {
        uint64_t tag;
        const char *why = read_varint(&raw, &tag);
        if (why) return why;
        if (tag >> 3 == 0 || tag >> 3 >= 1u << 29) return "field number out of range";
        if (tag == (1 << 3 | 2)) {
            why = read_string(&raw, &pair->key);
        } else if (tag == (2 << 3 | 2)) {
            why = read_string(&raw, &pair->value);
        } else {
            why = skip(&raw, tag & 7);
        }
        if (why) return why;
    }
    return 0;
}

/* A place for one more element, whose list doubles when its count is a power of two. */
static void *grow(const alineo_field *f, void *message) {
    void **items = (void **)((char *)message + f->offset);
    size_t *count = (size_t *)((char *)message + f->extra), size = size_of(f);
    if (*count == MAX_ELEMENTS) return 0;
    if ((*count & (*count - 1)) == 0) {
        void *larger = alineo_alloc(size * (*count ? *count * 2 : 1));
        __builtin_memcpy(larger, *items, size * *count);
        *items = larger;
    }
    return (char *)*items + size * (*count)++;
}

static const char *read_one(const alineo_field *f, void *at, alineo_bytes *in);

static const char *read_element(const alineo_field *f, void *message, alineo_bytes *in) {
    static const char *const many = "too many elements";
    if (f->kind == ALINEO_KIND_MAP) {
        alineo_pair pair, *list;
        alineo_bytes raw;
        const char *why = read_bytes(in, &raw);
        if (!why) why = read_entry(raw, &pair);
        if (why) return why;
        list = *(alineo_pair **)((char *)message + f->offset);
        size_t count = *(size_t *)((char *)message + f->extra);
        for (size_t i = 0; i < count; i++) {
            if (alineo_str_eq(list[i].key, pair.key)) {
                list[i] = pair;
                return 0;
            }
        }
        alineo_pair *place = grow(f, message);
        if (!place) return many;
        *place = pair;
        return 0;
    }
    void *place = grow(f, message);
    return place ? read_one(f, place, in) : many;
}

static const char *read_one(const alineo_field *f, void *at, alineo_bytes *in) {
    uint64_t number;
    alineo_bytes raw;
    const char *why;
    switch (f->kind) {
    case ALINEO_KIND_STRING:
        return read_string(in, at);
    case ALINEO_KIND_BYTES:
        return read_bytes(in, at);
    case ALINEO_KIND_MESSAGE:
        why = read_bytes(in, &raw);
        return why ? why : alineo_decode(f->type, at, raw);
    case ALINEO_KIND_VALUE:
        why = read_bytes(in, &raw);
        if (why) return why;
        *(alineo_value *)at = alineo_null();
        if (!raw.len) return 0;
        why = alineo_read_value(&raw, at);
        return why ? why : raw.len ? "bytes are left over behind the value" : 0;
    default:
        why = read_varint(in, &number);
        if (!why) store_number(f->kind, at, number);
        return why;
    }
}

static const char *read_field(const alineo_field *f, void *message, uint32_t wire, alineo_bytes *in) {
    if (f->label != ALINEO_LABEL_REPEATED) {
        if (f->label == ALINEO_LABEL_OPTIONAL) *(bool *)((char *)message + f->extra) = true;
        return read_one(f, (char *)message + f->offset, in);
    }
    if (!is_number(f->kind) || wire == 0) return read_element(f, message, in);
    alineo_bytes packed; /* numbers one behind the other */
    const char *why = read_bytes(in, &packed);
    while (!why && packed.len) why = read_element(f, message, &packed);
    return why;
}

const char *alineo_decode(const alineo_type *type, void *message, alineo_bytes in) {
    while (in.len) {
        uint64_t tag;
        const char *why = read_varint(&in, &tag);
        if (why) return why;
        uint64_t number = tag >> 3;
        uint32_t wire = tag & 7;
        if (number == 0 || number >= 1u << 29) return "field number out of range";
        const alineo_field *f = 0;
        for (size_t i = 0; i < type->count && !f; i++) {
            if (type->fields[i].number == number) f = &type->fields[i];
        }
        bool fits = f && (wire == (is_number(f->kind) ? 0 : 2) || (wire == 2 && f->label == ALINEO_LABEL_REPEATED));
        why = fits ? read_field(f, message, wire, &in) : skip(&in, wire);
        if (why) return why;
    }
    return 0;
}

static void put_varint(alineo_buffer_t *out, uint64_t n) {
    uint8_t raw[10];
    size_t len = 0;
    for (; n >= 0x80; n >>= 7) raw[len++] = (uint8_t)(n | 0x80);
    raw[len++] = (uint8_t)n;
    alineo_put(out, raw, len);
}

static void put_bytes(alineo_buffer_t *out, uint32_t number, const void *bytes, size_t len) {
    put_varint(out, number << 3 | 2);
    put_varint(out, len);
    alineo_put(out, bytes, len);
}

static void put_entry(alineo_buffer_t *out, uint32_t number, const alineo_pair *pair) {
    alineo_buffer_t entry = {0};
    put_bytes(&entry, 1, pair->key.ptr, pair->key.len);
    put_bytes(&entry, 2, pair->value.ptr, pair->value.len);
    put_bytes(out, number, entry.ptr, entry.len);
}

static bool is_before(alineo_str a, alineo_str b) {
    size_t n = a.len < b.len ? a.len : b.len;
    for (size_t i = 0; i < n; i++) {
        if (a.ptr[i] != b.ptr[i]) return (uint8_t)a.ptr[i] < (uint8_t)b.ptr[i];
    }
    return a.len < b.len;
}

/* Entries are written in the order of their keys. */
static void put_map(alineo_buffer_t *out, uint32_t number, const alineo_pair *list, size_t count) {
    const alineo_pair *last = 0;
    for (size_t n = 0; n < count; n++) {
        const alineo_pair *next = 0;
        for (size_t i = 0; i < count; i++) {
            bool later = !last || is_before(last->key, list[i].key);
            if (later && (!next || is_before(list[i].key, next->key))) next = &list[i];
        }
        if (!next) return; /* a key that is there twice */
        put_entry(out, number, next);
        last = next;
    }
}

/* Writes one value of a field; always says that zeros are written too. */
static void put_one(const alineo_field *f, const void *at, alineo_buffer_t *out, bool always) {
    const alineo_bytes *raw = at;
    alineo_buffer_t inner = {0};
    switch (f->kind) {
    case ALINEO_KIND_STRING:
    case ALINEO_KIND_BYTES: /* both are a pointer and a length */
        if (always || raw->len) put_bytes(out, f->number, raw->ptr, raw->len);
        return;
    case ALINEO_KIND_MESSAGE:
        alineo_encode(f->type, at, &inner);
        if (always || inner.len) put_bytes(out, f->number, inner.ptr, inner.len);
        return;
    case ALINEO_KIND_VALUE:
        if (((const alineo_value *)at)->kind == ALINEO_NULL) return;
        alineo_write_value(&inner, at);
        put_bytes(out, f->number, inner.ptr, inner.len);
        return;
    default: {
        uint64_t n = load_number(f->kind, at);
        if (!always && n == 0) return;
        put_varint(out, f->number << 3);
        put_varint(out, n);
    }
    }
}

static void put_list(const alineo_field *f, const char *items, size_t count, alineo_buffer_t *out) {
    if (f->kind == ALINEO_KIND_MAP) {
        put_map(out, f->number, (const alineo_pair *)items, count);
        return;
    }
    size_t size = size_of(f);
    if (!is_number(f->kind)) {
        for (size_t i = 0; i < count; i++) put_one(f, items + size * i, out, true);
        return;
    }
    alineo_buffer_t packed = {0};
    for (size_t i = 0; i < count; i++) put_varint(&packed, load_number(f->kind, items + size * i));
    if (count) put_bytes(out, f->number, packed.ptr, packed.len);
}

void alineo_encode(const alineo_type *type, const void *message, alineo_buffer_t *out) {
    for (size_t i = 0; i < type->count; i++) {
        const alineo_field *f = &type->fields[i];
        const char *at = (const char *)message + f->offset, *extra = (const char *)message + f->extra;
        switch (f->label) {
        case ALINEO_LABEL_REPEATED:
            put_list(f, *(const char *const *)at, *(const size_t *)extra, out);
            break;
        case ALINEO_LABEL_OPTIONAL:
            if (*(const bool *)extra) put_one(f, at, out, true);
            break;
        default:
            put_one(f, at, out, false);
        }
    }
}

/* --- values and tables --- */

static uint32_t u32(const uint8_t *p) { return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24; }

const char *alineo_read_value(alineo_bytes *rest, alineo_value *value) {
    if (!rest->len) return too_short;
    const uint8_t *p = rest->ptr + 1;
    size_t left = rest->len - 1, size = 0;
    *value = (alineo_value){.kind = rest->ptr[0]};
    switch (value->kind) {
    case ALINEO_NULL:
        break;
    case ALINEO_I64:
    case ALINEO_F64:
        size = 8;
        if (left < size) return too_short;
        __builtin_memcpy(value->kind == ALINEO_I64 ? (void *)&value->integer : (void *)&value->real, p, size);
        break;
    case ALINEO_BOOL:
        size = 1;
        if (left < size) return too_short;
        if (*p > 1) return "bool is neither 0 nor 1";
        value->integer = *p;
        break;
    default:
        if (left < 4 || u32(p) > left - 4) return too_short;
        value->bytes = (alineo_bytes){p + 4, u32(p)};
        size = 4 + value->bytes.len;
    }
    rest->ptr = p + size;
    rest->len = left - size;
    return 0;
}

void alineo_write_value(alineo_buffer_t *out, const alineo_value *value) {
    alineo_put(out, &value->kind, 1);
    uint8_t truth = value->integer != 0;
    uint32_t len = (uint32_t)value->bytes.len;
    switch (value->kind) {
    case ALINEO_NULL:
        return;
    case ALINEO_I64:
        alineo_put(out, &value->integer, 8);
        return;
    case ALINEO_F64:
        alineo_put(out, &value->real, 8);
        return;
    case ALINEO_BOOL:
        alineo_put(out, &truth, 1);
        return;
    default:
        alineo_put(out, &len, 4);
        alineo_put(out, value->bytes.ptr, len);
    }
}

const char *alineo_decode_table(alineo_bytes bytes, alineo_table *table) {
    if (bytes.len < 8) return too_short;
    uint32_t rows = u32(bytes.ptr), columns = u32(bytes.ptr + 4);
    if (columns > MAX_COLUMNS) return "too many columns";
    if (rows && !columns) return "rows without columns";
    alineo_bytes rest = {bytes.ptr + 8, bytes.len - 8};
    uint64_t cells = (uint64_t)rows * columns;
    if (cells > rest.len) return too_short; /* each has a byte at least: nothing is allocated for what can't be there */
    *table = (alineo_table){rows, columns, alineo_alloc((size_t)cells * sizeof(alineo_value))};
    for (size_t i = 0; i < cells; i++) {
        const char *why = alineo_read_value(&rest, &table->cells[i]);
        if (why) return why;
    }
    return rest.len ? "bytes are left over behind the last row" : 0;
}
