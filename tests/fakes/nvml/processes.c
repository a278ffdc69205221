/* Processes on a card: `compute_processes = PID:BYTES[:GI[:CI]] …`, `na` for bytes not known. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct process_v1 {
    unsigned pid;
    u64 memory;
};

struct process_v2 {
    unsigned pid;
    u64 memory;
    unsigned gpu_instance, compute_instance;
};

enum { MAX_PROCESSES = 16384, LIST_SIZE = 1 << 20 };

static struct process_v2 parse(const char *item) {
    struct process_v2 process = {0, ~0ull, ~0u, ~0u};
    char memory[32] = "na";
    sscanf(item, "%u:%31[^: ]:%u:%u", &process.pid, memory, &process.gpu_instance,
           &process.compute_instance);
    if (strcmp(memory, "na") != 0) process.memory = strtoull(memory, NULL, 0);
    return process;
}

static int list(struct subject who, const char *key, struct process_v2 *out, unsigned *count) {
    char *text = malloc(LIST_SIZE), *rest = text;
    if (!text) abort();
    bool said = scenario_text(who, key, text, LIST_SIZE) >= 0;
    *count = 0;
    for (char *item; said && (item = strsep(&rest, " ")) && *count < MAX_PROCESSES;)
        if (*item) out[(*count)++] = parse(item);
    free(text);
    return said ? OK : NOT_SUPPORTED;
}

static int answer(const char *function, nvmlDevice_t device, const char *key, unsigned *count,
                  void *out, size_t item_size) {
    unsigned room = *count, found = 0;
    int result = begin_device(function, device, key);
    struct process_v2 *processes = malloc(MAX_PROCESSES * sizeof *processes);
    if (!processes) abort();
    if (!result) result = list(*device, key, processes, &found);
    if (!result) {
        *count = found;
        if (found > room) result = INSUFFICIENT_SIZE;
    }
    for (unsigned i = 0; !result && out && i < found; i++)
        memcpy((char *)out + i * item_size, &processes[i], item_size);
    free(processes);
    return result;
}

#define PROCESS_GETTERS(kind, key)                                                              \
    API int nvmlDeviceGet##kind##RunningProcesses(nvmlDevice_t device, unsigned *count,         \
                                                  struct process_v1 *out) {                     \
        return answer("nvmlDeviceGet" #kind "RunningProcesses", device, key, count, out,        \
                      sizeof *out);                                                             \
    }                                                                                           \
    API int nvmlDeviceGet##kind##RunningProcesses_v2(nvmlDevice_t device, unsigned *count,      \
                                                     struct process_v2 *out) {                  \
        return answer("nvmlDeviceGet" #kind "RunningProcesses_v2", device, key, count, out,     \
                      sizeof *out);                                                             \
    }                                                                                           \
    API int nvmlDeviceGet##kind##RunningProcesses_v3(nvmlDevice_t device, unsigned *count,      \
                                                     struct process_v2 *out) {                  \
        return answer("nvmlDeviceGet" #kind "RunningProcesses_v3", device, key, count, out,     \
                      sizeof *out);                                                             \
    }

PROCESS_GETTERS(Compute, "compute_processes")
PROCESS_GETTERS(Graphics, "graphics_processes")
PROCESS_GETTERS(MPSCompute, "mps_processes")
