/* The file: a record a line, in JSON, and a line that commits those before it. When the plugin starts, it reads
 * the file up to the last commit that is whole: what follows was never acknowledged, and is cut off. */
#include "ledger.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH "/data/ledger.jsonl"

static int fd = -1;
static off_t committed;        /* bytes of the file up to the last commit */
static bool broken;            /* the file has more than that, which could not be cut off */
static alineo_buffer_t change; /* what file_begin began */

/* --- writing --- */

static void put(const char *bytes, size_t len) {
    if (change.len + len > change.capacity) {
        change.capacity = 2 * (change.len + len);
        change.ptr = realloc(change.ptr, change.capacity);
        if (!change.ptr) abort();
    }
    memcpy(change.ptr + change.len, bytes, len);
    change.len += len;
}

static void put_text(const char *text) { put(text, strlen(text)); }

static void put_string(alineo_str s) {
    static const char hex[] = "0123456789abcdef";
    put("\"", 1);
    size_t from = 0;
    for (size_t i = 0; i < s.len; i++) {
        unsigned char c = (unsigned char)s.ptr[i];
        if (c >= 0x20 && c != '"' && c != '\\') continue;
        char escape[6] = {'\\', 'u', '0', '0', hex[c >> 4], hex[c & 15]};
        put(s.ptr + from, i - from);
        put(escape, sizeof escape);
        from = i + 1;
    }
    put(s.ptr + from, s.len - from);
    put("\"", 1);
}

static void put_field(const char *name, alineo_str value) {
    put_text(",\"");
    put_text(name);
    put_text("\":");
    put_string(value);
}

static void put_number(const char *name, int64_t value) { put_field(name, alineo_decimal(value)); }

static void put_hex(const char *name, alineo_bytes b) {
    static const char hex[] = "0123456789abcdef";
    char *text = alineo_alloc(2 * b.len + 1);
    for (size_t i = 0; i < b.len; i++) {
        text[2 * i] = hex[b.ptr[i] >> 4];
        text[2 * i + 1] = hex[b.ptr[i] & 15];
    }
    put_field(name, (alineo_str){text, 2 * b.len});
}

static void record(const char *kind, alineo_str name, alineo_str id) {
    put_text("{\"kind\":\"");
    put_text(kind);
    put_text("\"");
    put_field("name", name);
    if (id.ptr) put_field("sandbox", id);
}

static void end(void) { put("}\n", 2); }

void file_begin(void) { change.len = 0; }

void file_entry(const entry *e) {
    record("entry", e->name, e->sandbox);
    put_number("id", e->id);
    put_number("ts", e->ts);
    put_number("step", e->step);
    if (e->has_branch) put_number("branch", e->branch);
    put_field("event", e->event);
    if (e->payload.kind != ALINEO_NULL) put_field("payload", alineo_value_text(e->payload));
    if (e->error.kind != ALINEO_NULL) put_field("error", alineo_value_text(e->error));
    end();
}

void file_segment(const sandbox *s, const segment *g) {
    record("segment", s->name, s->id);
    put_number("first", g->first);
    put_number("last", g->last);
    put_hex("id", g->id);
    put_hex("previous", g->previous);
    put_hex("hash", g->hash);
    put_hex("leaves", g->leaves);
    end();
}

void file_claim(alineo_str name, alineo_str id, uint64_t epoch) {
    record("claim", name, id);
    put_number("epoch", (int64_t)epoch);
    end();
}

void file_delete(alineo_str name, alineo_str id, int64_t deleted) {
    record("delete", name, id);
    put_number("deleted", deleted);
    end();
}

void file_environment(const environment *e) {
    record("environment", e->name, (alineo_str){0, 0});
    put_field("snapshot", e->snapshot);
    put_field("image", e->image);
    put_number("built", e->built);
    end();
}

void file_environment_removed(alineo_str name) {
    record("environment_removed", name, (alineo_str){0, 0});
    end();
}

static uint32_t crc32(const uint8_t *bytes, size_t len) {
    uint32_t crc = ~0u;
    for (size_t i = 0; i < len; i++) {
        crc ^= bytes[i];
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (0xedb88320u & -(crc & 1));
    }
    return ~crc;
}

/* The line that commits a change of some bytes. */
static alineo_str commit_line(const uint8_t *bytes, size_t len) {
    return alineo_concat(5, alineo_text("{\"kind\":\"commit\",\"bytes\":\""), alineo_decimal((int64_t)len), alineo_text("\",\"crc\":\""),
                         alineo_decimal(crc32(bytes, len)), alineo_text("\"}\n"));
}

static alineo_error *failed(const char *what, uint32_t code) {
    alineo_error *error = alineo_fail(code, "");
    error->message = alineo_concat(5, alineo_text(what), alineo_text(" "), alineo_text(PATH), alineo_text(": "), alineo_text(strerror(errno)));
    return error;
}

alineo_error *file_commit(void) {
    alineo_str line = commit_line(change.ptr, change.len);
    put(line.ptr, line.len);
    for (size_t done = 0; done < change.len;) {
        ssize_t n = pwrite(fd, change.ptr + done, change.len - done, committed + (off_t)done);
        if (n <= 0) {
            alineo_error *error = failed("writing", ALINEO_CODE_UNAVAILABLE);
            /* The next change is written over what is there of this one. When it is shorter, what sticks out is
             * behind its commit, and is cut off at the next start. */
            broken = ftruncate(fd, committed) != 0;
            return error;
        }
        done += (size_t)n;
    }
    if (fsync(fd) != 0) {
        /* Nobody knows what is on the disk now. The plugin ends, and the file is read again. */
        alineo_log_line(ALINEO_ERROR, alineo_text("the ledger's file could not be synced"));
        abort();
    }
    committed += (off_t)change.len;
    return 0;
}

/* --- reading --- */

static alineo_str field(alineo_bytes line, const char *name) {
    alineo_str text = {"", 0};
    alineo_json_string(line, name, &text);
    return text;
}

static bool has(alineo_bytes line, const char *name, alineo_str *out) { return alineo_json_string(line, name, out); }

static int64_t number(alineo_bytes line, const char *name) {
    alineo_str text = field(line, name);
    bool minus = text.len && text.ptr[0] == '-';
    uint64_t n = 0;
    for (size_t i = minus; i < text.len; i++) n = n * 10 + (uint64_t)(text.ptr[i] - '0');
    return minus ? -(int64_t)n : (int64_t)n;
}

static uint8_t digit(char c) { return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10); }

static alineo_bytes hex_field(alineo_bytes line, const char *name) {
    alineo_str text = field(line, name);
    uint8_t *bytes = alineo_alloc(text.len / 2);
    for (size_t i = 0; i + 1 < text.len; i += 2) bytes[i / 2] = (uint8_t)(digit(text.ptr[i]) << 4 | digit(text.ptr[i + 1]));
    return (alineo_bytes){bytes, text.len / 2};
}

static void apply_entry(alineo_bytes line, sandbox *s) {
    alineo_str text;
    entry e = {.id = number(line, "id"), .ts = number(line, "ts"), .step = number(line, "step"), .event = field(line, "event")};
    if (has(line, "branch", &text)) {
        e.has_branch = true;
        e.branch = number(line, "branch");
    }
    if (has(line, "payload", &text)) e.payload = alineo_json_value((alineo_bytes){(const uint8_t *)text.ptr, text.len});
    if (has(line, "error", &text)) e.error = alineo_text_value(text);
    add_entry(s, e);
}

/* Does again what a line says. */
static void apply(alineo_bytes line) {
    alineo_str kind = field(line, "kind"), name = field(line, "name"), id = field(line, "sandbox");
    if (alineo_str_eq(kind, alineo_text("entry"))) {
        apply_entry(line, make_sandbox(name, id));
    } else if (alineo_str_eq(kind, alineo_text("segment"))) {
        add_segment(make_sandbox(name, id), (segment){number(line, "first"), number(line, "last"), hex_field(line, "id"),
                                                      hex_field(line, "previous"), hex_field(line, "hash"), hex_field(line, "leaves")});
    } else if (alineo_str_eq(kind, alineo_text("claim"))) {
        uint64_t epoch = (uint64_t)number(line, "epoch");
        make_sandbox(name, id)->epoch = epoch;
        if (epoch > the_ledger.last_epoch) the_ledger.last_epoch = epoch;
    } else if (alineo_str_eq(kind, alineo_text("delete"))) {
        remove_sandbox(name, id, number(line, "deleted"));
    } else if (alineo_str_eq(kind, alineo_text("environment"))) {
        set_environment((environment){name, field(line, "snapshot"), field(line, "image"), number(line, "built")});
    } else if (alineo_str_eq(kind, alineo_text("environment_removed"))) {
        remove_environment(name);
    }
}

static size_t line_length(const uint8_t *text, size_t len) {
    const uint8_t *newline = memchr(text, '\n', len);
    return newline ? (size_t)(newline - text) + 1 : 0;
}

/* Applies the changes that were committed, and returns how many bytes they are. */
static size_t replay(const uint8_t *text, size_t len) {
    size_t begin = 0, at = 0, n;
    for (; (n = line_length(text + at, len - at)) > 0; at += n) {
        alineo_str commit = commit_line(text + begin, at - begin);
        if (n != commit.len || memcmp(text + at, commit.ptr, n) != 0) continue;
        for (size_t line; begin < at; begin += line) {
            line = line_length(text + begin, at - begin);
            apply((alineo_bytes){text + begin, line});
        }
        begin = at + n;
    }
    return begin;
}

alineo_error *file_open(void) {
    if (fd >= 0) {
        if (broken && ftruncate(fd, committed) == 0) broken = false;
        return broken ? failed("cutting off an unfinished change of", ALINEO_CODE_UNAVAILABLE) : 0;
    }
    int opened = open(PATH, O_RDWR | O_CREAT, 0600);
    if (opened < 0) return failed("opening", ALINEO_CODE_UNAVAILABLE);
    struct stat st;
    if (fstat(opened, &st) != 0) {
        close(opened);
        return failed("looking at", ALINEO_CODE_UNAVAILABLE);
    }
    uint8_t *text = malloc((size_t)st.st_size + 1);
    if (!text) abort();
    size_t len = 0;
    ssize_t n;
    while ((n = pread(opened, text + len, (size_t)st.st_size - len, (off_t)len)) > 0) len += (size_t)n;
    if (n < 0) {
        free(text);
        close(opened);
        return failed("reading", ALINEO_CODE_UNAVAILABLE);
    }
    committed = (off_t)replay(text, len);
    free(text);
    fd = opened;
    if ((size_t)committed < len) {
        alineo_log_line(ALINEO_WARN, alineo_text("the ledger's file ends in a change that was never finished; it is cut off"));
        if (ftruncate(fd, committed) != 0) broken = true;
    }
    return 0;
}
