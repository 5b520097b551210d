/* As much JSON as a plugin needs: what somebody else wrote, and texts to write. */
#include "alineo.h"

#define MAX_DEPTH 128

typedef struct parser {
    const uint8_t *at, *end;
} parser;

static bool value(parser *p, int depth);

static void space(parser *p) {
    while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r')) p->at++;
}

static bool eat(parser *p, uint8_t byte) {
    space(p);
    if (p->at < p->end && *p->at == byte) {
        p->at++;
        return true;
    }
    return false;
}

static bool hex4(parser *p, uint32_t *out) {
    uint32_t n = 0;
    if (p->end - p->at < 4) return false;
    for (int i = 0; i < 4; i++) {
        uint8_t c = *p->at++;
        uint8_t lower = c | 0x20;
        if (c >= '0' && c <= '9') {
            n = n << 4 | (c - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            n = n << 4 | (uint32_t)(lower - 'a' + 10);
        } else {
            return false;
        }
    }
    *out = n;
    return true;
}

static uint8_t *utf8(uint8_t *out, uint32_t c) {
    if (c < 0x80) {
        *out++ = (uint8_t)c;
    } else if (c < 0x800) {
        *out++ = (uint8_t)(0xc0 | c >> 6);
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
        *out++ = (uint8_t)(0xe0 | c >> 12);
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    } else {
        *out++ = (uint8_t)(0xf0 | c >> 18);
        *out++ = (uint8_t)(0x80 | (c >> 12 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c >> 6 & 0x3f));
        *out++ = (uint8_t)(0x80 | (c & 0x3f));
    }
    return out;
}

static bool unicode(parser *p, uint32_t *out) {
    if (!hex4(p, out)) return false;
    if (*out >= 0xd800 && *out < 0xdc00) {
        parser ahead = *p;
        uint32_t low;
        if (ahead.end - ahead.at >= 2 && ahead.at[0] == '\\' && ahead.at[1] == 'u') {
            ahead.at += 2;
            if (!hex4(&ahead, &low)) return false;
            if (low >= 0xdc00 && low < 0xe000) {
                *p = ahead;
                *out = 0x10000 + ((*out - 0xd800) << 10) + (low - 0xdc00);
                return true;
            }
        }
    }
    if (*out >= 0xd800 && *out < 0xe000) *out = 0xfffd; /* half of a pair */
    return true;
}

/* Reads a string; into is NULL, or gets the text. No escape is shorter than what it stands for. */
static bool string(parser *p, alineo_str *into) {
    if (p->at == p->end || *p->at != '"') return false;
    const uint8_t *start = ++p->at;
    uint8_t *out = 0, *begin = 0;
    if (into) {
        const uint8_t *end = start;
        while (end < p->end && *end != '"') end += *end == '\\' ? 2 : 1;
        begin = out = alineo_alloc((size_t)(end - start) + 2);
    }
    while (p->at < p->end) {
        uint32_t c = *p->at++;
        if (c == '"') {
            if (into) *into = (alineo_str){(const char *)begin, (size_t)(out - begin)};
            return true;
        }
        if (c != '\\') {
            if (into) *out++ = (uint8_t)c;
            continue;
        }
        if (p->at == p->end) return false;
        switch (c = *p->at++) {
        case 'b': c = '\b'; break;
        case 'f': c = '\f'; break;
        case 'n': c = '\n'; break;
        case 'r': c = '\r'; break;
        case 't': c = '\t'; break;
        case 'u':
            if (!unicode(p, &c)) return false;
            break;
        case '"': case '\\': case '/': break;
        default: return false;
        }
        if (into) out = utf8(out, c);
    }
    return false;
}

static bool object(parser *p, int depth, const char *key, alineo_str *out, bool *found) {
    if (!eat(p, '{')) return false;
    if (eat(p, '}')) return true;
    for (;;) {
        alineo_str name;
        space(p);
        if (!string(p, key ? &name : 0) || !eat(p, ':')) return false;
        space(p);
        if (key && alineo_str_eq(name, alineo_text(key))) {
            *found = p->at < p->end && *p->at == '"';
            if (*found ? !string(p, out) : !value(p, depth + 1)) return false;
        } else if (!value(p, depth + 1)) {
            return false;
        }
        if (!eat(p, ',')) return eat(p, '}');
    }
}

static bool value(parser *p, int depth) {
    if (depth == MAX_DEPTH) return false;
    space(p);
    if (p->at == p->end) return false;
    if (*p->at == '{') return object(p, depth, 0, 0, 0);
    if (*p->at == '"') return string(p, 0);
    if (*p->at == '[') {
        p->at++;
        if (eat(p, ']')) return true;
        for (;;) {
            if (!value(p, depth + 1)) return false;
            if (!eat(p, ',')) return eat(p, ']');
        }
    }
    const uint8_t *start = p->at;
    for (; p->at < p->end; p->at++) {
        uint8_t c = *p->at, lower = c | 0x20;
        bool word = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.';
        if (!word) break;
    }
    return p->at > start;
}

bool alineo_json_string(alineo_bytes json, const char *key, alineo_str *out) {
    parser p = {json.ptr, json.ptr + json.len};
    bool found = false;
    if (!json.len || !object(&p, 0, key, out, &found)) return false;
    space(&p);
    return found && p.at == p.end;
}

static bool tree(parser *p, int depth, alineo_json *out) {
    *out = (alineo_json){0};
    if (depth == MAX_DEPTH) return false;
    space(p);
    if (p->at == p->end) return false;
    uint8_t first = *p->at;
    if (first == '"') {
        out->kind = ALINEO_JSON_STRING;
        return string(p, &out->text);
    }
    if (first != '{' && first != '[') {
        const uint8_t *start = p->at;
        out->kind = ALINEO_JSON_WORD;
        if (!value(p, depth)) return false;
        out->text = (alineo_str){(const char *)start, (size_t)(p->at - start)};
        return true;
    }
    uint8_t last = first + 2; /* } or ] */
    size_t capacity = 0;
    out->kind = first == '{' ? ALINEO_JSON_OBJECT : ALINEO_JSON_ARRAY;
    p->at++;
    if (eat(p, last)) return true;
    do {
        if (out->count == capacity) {
            capacity = capacity * 2 + 4;
            alineo_json *items = alineo_alloc(capacity * sizeof *items);
            alineo_str *keys = alineo_alloc(capacity * sizeof *keys);
            if (out->count) {
                __builtin_memcpy(items, out->items, out->count * sizeof *items);
                __builtin_memcpy(keys, out->keys, out->count * sizeof *keys);
            }
            out->items = items;
            out->keys = keys;
        }
        if (first == '{') {
            space(p);
            if (!string(p, &out->keys[out->count]) || !eat(p, ':')) return false;
        }
        if (!tree(p, depth + 1, &out->items[out->count++])) return false;
    } while (eat(p, ','));
    return eat(p, last);
}

bool alineo_json_parse(alineo_bytes json, alineo_json *out) {
    parser p = {json.ptr, json.ptr + json.len};
    *out = (alineo_json){0};
    if (!json.len || !tree(&p, 0, out)) return false;
    space(&p);
    return p.at == p.end;
}

const alineo_json *alineo_json_get(const alineo_json *object, const char *key) {
    static const alineo_json none = {0};
    if (object->kind != ALINEO_JSON_OBJECT) return &none;
    for (size_t i = object->count; i > 0; i--) { /* of a key that comes twice the last counts */
        if (alineo_str_eq(object->keys[i - 1], alineo_text(key))) return &object->items[i - 1];
    }
    return &none;
}

bool alineo_json_integer(const alineo_json *value, int64_t *out) {
    const char *p = value->text.ptr, *end = p + value->text.len;
    bool negative = p < end && *p == '-';
    uint64_t n = 0;
    if (negative) p++;
    if (value->kind != ALINEO_JSON_WORD || p == end || end - p > 18) return false;
    for (; p < end; p++) {
        if (*p < '0' || *p > '9') return false;
        n = n * 10 + (uint64_t)(*p - '0');
    }
    *out = negative ? -(int64_t)n : (int64_t)n;
    return true;
}

alineo_str alineo_json_quoted(alineo_str text) {
    static const char digits[] = "0123456789abcdef";
    char *begin = alineo_alloc(text.len * 6 + 2), *out = begin;
    *out++ = '"';
    for (size_t i = 0; i < text.len; i++) {
        char c = text.ptr[i];
        if (c == '"' || c == '\\') {
            *out++ = '\\';
        } else if ((uint8_t)c < 0x20) {
            *out++ = '\\', *out++ = 'u', *out++ = '0', *out++ = '0', *out++ = digits[c >> 4], c = digits[c & 15];
        }
        *out++ = c;
    }
    *out++ = '"';
    return (alineo_str){begin, (size_t)(out - begin)};
}
