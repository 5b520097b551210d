// libc
/* Mistakes that a plugin in C can make: the name of a sandbox says which. */
#include "alineo.h"

#include <stdlib.h>

static alineo_str kinds[] = {{"ledger", 6}};
static volatile uint64_t calls, before;

static bool called(const alineo_ledger_open_request *request, const char *name) {
    return alineo_str_eq(request->key.name, alineo_text(name));
}

/* Frames that are really there. */
static uint64_t deep(volatile uint64_t *above) {
    volatile uint64_t frame[128];
    if (!above) return 0;
    for (int i = 0; i < 128; i++) frame[i] = above[i & 7] + 1;
    return deep(frame) + frame[64];
}

static alineo_error *open_ledger(const alineo_ledger_open_request *request, alineo_head *reply) {
    if (called(request, "trap")) __builtin_trap();
    if (called(request, "abort")) abort();
    if (called(request, "pointer")) *(volatile uint64_t *)0xfffffff0 = 1;
    if (called(request, "stack")) {
        volatile uint64_t top[8] = {0};
        before = deep(top);
    }
    if (called(request, "memory")) {
        for (;;) ((volatile char *)alineo_alloc(1 << 16))[0] = 1;
    }
    if (called(request, "malloc")) { /* which, unlike alineo_alloc, must be looked at: NULL can be written to */
        for (volatile char *p; (p = malloc(1 << 16)); p[0] = 1) before++;
        abort();
    }
    if (called(request, "loop")) {
        for (;;) before++;
    }
    reply->epoch = ++calls;
    reply->last_step = -1;
    return 0;
}

alineo_plugin alineo_the_plugin = {
    .manifest = {.name = {"hazard", 6}, .version = {"1.0.0", 5}, .kinds = kinds, .kinds_count = 1},
    .ledger_open = open_ledger,
};
