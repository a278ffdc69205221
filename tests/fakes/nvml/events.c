/* Events: each line of the file in FAKE_NVML_EVENTS, `CARD TYPE DATA [GI CI]`, is one. */
#define _GNU_SOURCE
#include "answer.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

struct event_set {
    long offset; /* of the first line not yet given, -1 while there is no file */
    int watch;
    u64 wanted[MAX_DEVICES];
};

struct event_v1 {
    nvmlDevice_t device;
    u64 type, data;
};

struct event_v2 {
    nvmlDevice_t device;
    u64 type, data;
    unsigned gpu_instance, compute_instance;
};

static const struct {
    const char *word;
    u64 bit;
} types[] = {
    {"single_bit", 0x1}, {"double_bit", 0x2},    {"pstate", 0x4}, {"xid", 0x8},
    {"clock", 0x10},     {"power_source", 0x80}, {"mig", 0x100},
};

API int nvmlEventSetCreate(struct event_set **out) {
    int result = is_initialized() ? begin("nvmlEventSetCreate", NOBODY, "event_set")
                                  : UNINITIALIZED;
    const char *path = getenv("FAKE_NVML_EVENTS");
    FILE *file = path && !result ? fopen(path, "re") : NULL;
    if (result) return result;
    struct event_set *set = calloc(1, sizeof *set);
    if (!set) abort();
    set->watch = -1;
    if (file) { /* what happened before nobody was told of */
        set->watch = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
        inotify_add_watch(set->watch, path, IN_MODIFY);
        fseek(file, 0, SEEK_END);
        set->offset = ftell(file);
        fclose(file);
    }
    *out = set;
    return OK;
}

API int nvmlEventSetFree(struct event_set *set) {
    int result = begin("nvmlEventSetFree", NOBODY, "event_free");
    if (result) return result;
    if (set->watch >= 0) close(set->watch);
    free(set);
    return OK;
}

U64_GETTER(nvmlDeviceGetSupportedEventTypes, "event_types")

API int nvmlDeviceRegisterEvents(nvmlDevice_t device, u64 wanted, struct event_set *set) {
    u64 supported;
    int result = answer_u64("nvmlDeviceRegisterEvents", device, "event_types", &supported);
    if (!result && (wanted & ~supported)) result = NOT_SUPPORTED;
    if (!result) set->wanted[device->device] |= wanted;
    return result;
}

static bool parse(const char *line, struct event_v2 *event) {
    char word[32];
    unsigned card;
    event->gpu_instance = event->compute_instance = ~0u;
    event->type = 0;
    if (sscanf(line, "%u %31s %llu %u %u", &card, word, &event->data, &event->gpu_instance,
               &event->compute_instance) < 3 || card >= MAX_DEVICES)
        return false;
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(word, types[i].word) == 0) event->type = types[i].bit;
    event->device = handle_of((int)card, -1);
    return event->type != 0;
}

static bool next_event(struct event_set *set, struct event_v2 *event) {
    char line[256];
    bool found = false;
    FILE *file = set->watch >= 0 ? fopen(getenv("FAKE_NVML_EVENTS"), "re") : NULL;
    if (!file) return false;
    fseek(file, set->offset, SEEK_SET);
    while (!found && fgets(line, sizeof line, file) && strchr(line, '\n')) {
        set->offset = ftell(file);
        found = parse(line, event) && (set->wanted[event->device->device] & event->type);
    }
    fclose(file);
    return found;
}

static long milliseconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static void wait_for_change(struct event_set *set, long milliseconds) {
    struct pollfd watched = {.fd = set->watch, .events = POLLIN};
    char noise[4096];
    poll(&watched, set->watch >= 0 ? 1 : 0, (int)milliseconds);
    while (set->watch >= 0 && read(set->watch, noise, sizeof noise) > 0) continue;
}

static int wait_for_event(struct event_set *set, struct event_v2 *event, unsigned timeout) {
    long deadline = milliseconds_now() + (long)timeout;
    for (;;) {
        if (next_event(set, event)) return OK;
        long left = deadline - milliseconds_now();
        if (left <= 0) return TIMEOUT;
        wait_for_change(set, left < 3600000 ? left : 3600000);
    }
}

API int nvmlEventSetWait_v2(struct event_set *set, struct event_v2 *out, unsigned timeout) {
    int result = begin("nvmlEventSetWait_v2", NOBODY, "event_wait");
    return result ? result : wait_for_event(set, out, timeout);
}

API int nvmlEventSetWait(struct event_set *set, struct event_v1 *out, unsigned timeout) {
    struct event_v2 event;
    int result = begin("nvmlEventSetWait", NOBODY, "event_wait");
    if (!result) result = wait_for_event(set, &event, timeout);
    if (!result) *out = (struct event_v1){event.device, event.type, event.data};
    return result;
}
