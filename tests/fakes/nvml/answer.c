/* The way of every call: read the scenario, write the log, do what is due, look the value up. */
#define _GNU_SOURCE
#include "answer.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The scenario named in the environment, or the file `scenario` beside the library. */
static const char *scenario_path(void) {
    static char beside[4096];
    const char *named = getenv("FAKE_NVML_SCENARIO");
    Dl_info library;
    if (named) return named;
    if (!beside[0] && dladdr(beside, &library) && library.dli_fname) {
        const char *slash = strrchr(library.dli_fname, '/');
        snprintf(beside, sizeof beside, "%.*s/scenario",
                 slash ? (int)(slash - library.dli_fname) : 0, library.dli_fname);
    }
    return beside;
}

static void log_call(const char *function, struct subject who) {
    static int file = -2;
    char line[256];
    struct timespec now;
    if (file == -2) {
        const char *path = getenv("FAKE_NVML_LOG");
        file = path ? open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644) : -1;
    }
    if (file < 0) return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    char card[40] = "-";
    if (who.mig >= 0) snprintf(card, sizeof card, "%d.mig.%d", who.device, who.mig);
    else if (who.device >= 0) snprintf(card, sizeof card, "%d", who.device);
    int length = snprintf(line, sizeof line, "%s %s %lld\n", function, card,
                          (long long)now.tv_sec * 1000000000 + now.tv_nsec);
    if (write(file, line, (size_t)length) < 0) file = -1;
}

int run_due(struct subject who, const char *key) {
    struct action due;
    if (!scenario_action(who, key, &due)) return OK;
    int result = action_run(&due);
    free(due.text);
    return result;
}

/* A fault of the whole library that has a name of its own. */
static int run_standing(const char *key, enum action_kind kind) {
    char text[4096];
    if (scenario_text(NOBODY, key, text, sizeof text) < 0) return OK;
    struct action due = {.kind = kind, .number = strtod(text, NULL), .text = text};
    return action_run(&due);
}

int begin(const char *function, struct subject who, const char *key) {
    static const struct {
        const char *key;
        enum action_kind kind;
    } standing[] = {{"hold", ACT_HOLD}, {"leak", ACT_LEAK}, {"print", ACT_PRINT}};
    if (!scenario_refresh(scenario_path())) return UNKNOWN;
    log_call(function, who);
    int result = OK;
    for (size_t i = 0; i < sizeof standing / sizeof *standing && !result; i++)
        result = run_standing(standing[i].key, standing[i].kind);
    const char *const keys[] = {function, key, "any"};
    for (size_t i = 0; i < 3 && !result; i++)
        if (keys[i]) result = run_due(who, keys[i]);
    return result;
}

int begin_device(const char *function, nvmlDevice_t device, const char *key) {
    if (!is_initialized()) return UNINITIALIZED;
    if (!is_handle(device)) return INVALID_ARGUMENT;
    return begin(function, *device, key);
}

int get_u64(struct subject who, const char *key, u64 *out) {
    return scenario_number(who, key, out) ? OK : NOT_SUPPORTED;
}

int get_uint(struct subject who, const char *key, unsigned *out) {
    u64 number;
    if (get_u64(who, key, &number)) return NOT_SUPPORTED;
    *out = (unsigned)number;
    return OK;
}

int get_real(struct subject who, const char *key, double *out) {
    return scenario_real(who, key, out) ? OK : NOT_SUPPORTED;
}

int get_text(struct subject who, const char *key, char *out, unsigned size) {
    char text[VALUE_SIZE];
    long length = scenario_text(who, key, text, sizeof text);
    if (length < 0) return NOT_SUPPORTED;
    if ((unsigned)length >= size) return INSUFFICIENT_SIZE;
    memcpy(out, text, (size_t)length + 1);
    return OK;
}

int answer_uint(const char *function, nvmlDevice_t device, const char *key, unsigned *out) {
    int result = begin_device(function, device, key);
    return result ? result : get_uint(*device, key, out);
}

int answer_u64(const char *function, nvmlDevice_t device, const char *key, u64 *out) {
    int result = begin_device(function, device, key);
    return result ? result : get_u64(*device, key, out);
}

int answer_text(const char *function, nvmlDevice_t device, const char *key, char *out,
                unsigned size) {
    int result = begin_device(function, device, key);
    return result ? result : get_text(*device, key, out, size);
}

int answer_pair(const char *function, nvmlDevice_t device, const char *key, const char *second,
                unsigned *out, unsigned *out_second) {
    int result = answer_uint(function, device, key, out);
    if (!result && get_uint(*device, second, out_second)) *out_second = *out;
    return result;
}

int answer_word(const char *function, nvmlDevice_t device, const char *prefix, const char *word,
                unsigned *out) {
    char key[KEY_SIZE];
    if (!word) return INVALID_ARGUMENT;
    return answer_uint(function, device, key_of(key, "%s.%s", prefix, word), out);
}

int answer_numbered(const char *function, nvmlDevice_t device, const char *prefix,
                    unsigned number, unsigned *out) {
    char key[KEY_SIZE];
    return answer_uint(function, device, key_of(key, "%s.%u", prefix, number), out);
}

u64 now_microseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (u64)now.tv_sec * 1000000 + (u64)now.tv_nsec / 1000;
}

const char *key_of(char *buffer, const char *format, ...) {
    va_list parts;
    va_start(parts, format);
    vsnprintf(buffer, KEY_SIZE, format, parts);
    va_end(parts);
    return buffer;
}

const char *word_of(const char *const *words, unsigned count, unsigned value) {
    return value < count ? words[value] : NULL;
}
