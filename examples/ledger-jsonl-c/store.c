/* What is in memory: everything, in the order in which it is asked for. */
#include "ledger.h"

#include <stdlib.h>
#include <string.h>

ledger the_ledger;

void *keep(const void *bytes, size_t len) {
    void *copy = malloc(len ? len : 1);
    if (!copy) abort(); /* the host sees a trap, and the file has what was acknowledged */
    memcpy(copy, bytes, len);
    return copy;
}

alineo_str keep_str(alineo_str text) { return (alineo_str){keep(text.ptr, text.len), text.len}; }
alineo_bytes keep_bytes(alineo_bytes bytes) { return (alineo_bytes){keep(bytes.ptr, bytes.len), bytes.len}; }

/* Room for one more element: lists double when their count is a power of two. */
void *grow(void *list, size_t count, size_t size) {
    if (count & (count - 1)) return list;
    list = realloc(list, (count ? count * 2 : 1) * size);
    if (!list) abort();
    return list;
}

int compare_str(alineo_str a, alineo_str b) {
    int order = memcmp(a.ptr, b.ptr, a.len < b.len ? a.len : b.len);
    return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_key(const sandbox *s, alineo_str name, alineo_str id) {
    int order = compare_str(s->name, name);
    return order ? order : compare_str(s->id, id);
}

/* The first sandbox that is not before a key. */
static size_t place_of(alineo_str name, alineo_str id) {
    size_t low = 0, high = the_ledger.sandbox_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (compare_key(&the_ledger.sandboxes[middle], name, id) < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

sandbox *find_sandbox(alineo_str name, alineo_str id) {
    size_t at = place_of(name, id);
    bool there = at < the_ledger.sandbox_count && compare_key(&the_ledger.sandboxes[at], name, id) == 0;
    return there ? &the_ledger.sandboxes[at] : 0;
}

sandbox *make_sandbox(alineo_str name, alineo_str id) {
    sandbox *found = find_sandbox(name, id);
    if (found) return found;
    ledger *l = &the_ledger;
    size_t at = place_of(name, id);
    l->sandboxes = grow(l->sandboxes, l->sandbox_count, sizeof *l->sandboxes);
    memmove(&l->sandboxes[at + 1], &l->sandboxes[at], (l->sandbox_count - at) * sizeof *l->sandboxes);
    l->sandbox_count++;
    l->sandboxes[at] = (sandbox){.name = keep_str(name), .id = keep_str(id)};
    return &l->sandboxes[at];
}

alineo_bytes hash_of(const sandbox *s) {
    return s && s->segment_count ? s->segments[s->segment_count - 1].hash : (alineo_bytes){0, 0};
}

/* Entries come almost in order: the place is looked for from the end. */
void add_entry(sandbox *s, entry e) {
    s->entries = grow(s->entries, s->entry_count, sizeof *s->entries);
    size_t at = s->entry_count++;
    while (at > 0 && s->entries[at - 1].ts > e.ts) at--;
    memmove(&s->entries[at + 1], &s->entries[at], (s->entry_count - 1 - at) * sizeof *s->entries);
    e.name = s->name;
    e.sandbox = s->id;
    e.event = keep_str(e.event);
    e.payload.bytes = keep_bytes(e.payload.bytes);
    e.error.bytes = keep_bytes(e.error.bytes);
    s->entries[at] = e;
    if (e.ts > s->max_ts) s->max_ts = e.ts;
    if (e.id > the_ledger.last_id) the_ledger.last_id = e.id;
    the_ledger.entry_count++;
}

void add_segment(sandbox *s, segment g) {
    s->segments = grow(s->segments, s->segment_count, sizeof *s->segments);
    g.id = keep_bytes(g.id);
    g.previous = keep_bytes(g.previous);
    g.hash = keep_bytes(g.hash);
    g.leaves = keep_bytes(g.leaves);
    s->counted += g.leaves.len / 32;
    s->segments[s->segment_count++] = g;
}

static void bury(const sandbox *s, int64_t deleted) {
    ledger *l = &the_ledger;
    tombstone *t = 0;
    for (size_t i = 0; i < l->tombstone_count && !t; i++) {
        bool same = compare_str(l->tombstones[i].name, s->name) == 0 && compare_str(l->tombstones[i].id, s->id) == 0;
        if (same) t = &l->tombstones[i];
    }
    if (!t) {
        l->tombstones = grow(l->tombstones, l->tombstone_count, sizeof *l->tombstones);
        t = &l->tombstones[l->tombstone_count++];
        *t = (tombstone){.name = keep_str(s->name), .id = keep_str(s->id)};
    }
    t->entries += s->entry_count;
    t->hash = keep_bytes(hash_of(s));
    t->deleted = deleted;
}

void remove_sandbox(alineo_str name, alineo_str id, int64_t deleted) {
    sandbox *s = find_sandbox(name, id);
    if (!s) return;
    if (s->entry_count || s->segment_count) bury(s, deleted);
    for (size_t i = 0; i < s->entry_count; i++) {
        free((void *)s->entries[i].event.ptr);
        free((void *)s->entries[i].payload.bytes.ptr);
        free((void *)s->entries[i].error.bytes.ptr);
    }
    the_ledger.entry_count -= s->entry_count;
    free(s->entries);
    free(s->segments);
    size_t at = (size_t)(s - the_ledger.sandboxes);
    memmove(s, s + 1, (--the_ledger.sandbox_count - at) * sizeof *s);
}

void set_environment(environment e) {
    remove_environment(e.name);
    ledger *l = &the_ledger;
    l->environments = grow(l->environments, l->environment_count, sizeof *l->environments);
    l->environments[l->environment_count++] = (environment){keep_str(e.name), keep_str(e.snapshot), keep_str(e.image), e.built};
}

void remove_environment(alineo_str name) {
    ledger *l = &the_ledger;
    for (size_t i = 0; i < l->environment_count; i++) {
        if (compare_str(l->environments[i].name, name) == 0) {
            l->environments[i] = l->environments[--l->environment_count];
            return;
        }
    }
}
