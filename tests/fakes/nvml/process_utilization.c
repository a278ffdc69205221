/* `process_utilization = PID:SM:MEMORY:ENCODER:DECODER[:JPEG:OFA[:MICROSECONDS]] …` */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct sample {
    unsigned pid;
    u64 moment;
    unsigned sm, memory, encoder, decoder;
};

struct info {
    u64 moment;
    unsigned pid, sm, memory, encoder, decoder, jpeg, ofa;
};

struct info_list {
    unsigned version, count;
    u64 last_seen;
    struct info *items;
};

enum { MAX_SAMPLES = 4096 };

/* Samples newer than the caller's last one; without a moment of its own a sample is from now. */
static int samples(struct subject who, u64 last_seen, struct info *out, unsigned *count) {
    char text[VALUE_SIZE], *rest = text;
    if (scenario_text(who, "process_utilization", text, sizeof text) < 0) return NOT_SUPPORTED;
    *count = 0;
    for (char *item; (item = strsep(&rest, " ")) && *count < MAX_SAMPLES;) {
        struct info *info = &out[*count];
        *info = (struct info){.moment = now_microseconds()};
        if (sscanf(item, "%u:%u:%u:%u:%u:%u:%u:%llu", &info->pid, &info->sm, &info->memory,
                   &info->encoder, &info->decoder, &info->jpeg, &info->ofa, &info->moment) >= 5 &&
            info->moment > last_seen)
            ++*count;
    }
    return *count ? OK : NOT_FOUND;
}

static int collect(const char *function, nvmlDevice_t device, u64 last_seen, unsigned room,
                   struct info **found, unsigned *count) {
    *found = malloc(MAX_SAMPLES * sizeof **found);
    if (!*found) abort();
    int result = begin_device(function, device, "process_utilization");
    if (!result) result = samples(*device, last_seen, *found, count);
    return !result && *count > room ? INSUFFICIENT_SIZE : result;
}

API int nvmlDeviceGetProcessUtilization(nvmlDevice_t device, struct sample *out, unsigned *count,
                                        u64 last_seen) {
    struct info *found;
    int result = collect("nvmlDeviceGetProcessUtilization", device, last_seen, out ? *count : 0,
                         &found, count);
    for (unsigned i = 0; !result && i < *count; i++)
        out[i] = (struct sample){found[i].pid,    found[i].moment,  found[i].sm,
                                 found[i].memory, found[i].encoder, found[i].decoder};
    free(found);
    return result;
}

API int nvmlDeviceGetProcessesUtilizationInfo(nvmlDevice_t device, struct info_list *out) {
    struct info *found;
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    int result = collect("nvmlDeviceGetProcessesUtilizationInfo", device, out->last_seen,
                         out->items ? out->count : 0, &found, &out->count);
    if (!result) memcpy(out->items, found, out->count * sizeof *found);
    free(found);
    return result;
}
