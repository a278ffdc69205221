/* How every function of the fake library answers: the log, the faults, then the card's value. */
#ifndef FAKE_NVML_ANSWER_H
#define FAKE_NVML_ANSWER_H

#include "../scenario/scenario.h"

#define API __attribute__((visibility("default")))

typedef unsigned long long u64;
typedef struct subject *nvmlDevice_t;

enum {
    OK = 0,
    UNINITIALIZED = 1,
    INVALID_ARGUMENT = 2,
    NOT_SUPPORTED = 3,
    NOT_FOUND = 6,
    INSUFFICIENT_SIZE = 7,
    TIMEOUT = 10,
    VERSION_MISMATCH = 25,
    UNKNOWN = 999,
};

/* Log the call and run what is due for it: 0, or the error to answer. */
int begin(const char *function, struct subject who, const char *key);

/* The same for a call that takes a handle; refuses handles that are none. */
int begin_device(const char *function, nvmlDevice_t device, const char *key);

/* Run what is due under one more key of a call that has begun: 0, or the error. */
int run_due(struct subject who, const char *key);

/* One value under one key, NOT_SUPPORTED when the card does not say it. */
int get_u64(struct subject who, const char *key, u64 *out);
int get_uint(struct subject who, const char *key, unsigned *out);
int get_real(struct subject who, const char *key, double *out);
int get_text(struct subject who, const char *key, char *out, unsigned size);

/* The whole of a call that gives one value. */
int answer_uint(const char *function, nvmlDevice_t device, const char *key, unsigned *out);
int answer_u64(const char *function, nvmlDevice_t device, const char *key, u64 *out);
int answer_text(const char *function, nvmlDevice_t device, const char *key, char *out,
                unsigned size);

/* A pair of values; where the card does not say the second, it is like the first. */
int answer_pair(const char *function, nvmlDevice_t device, const char *key, const char *second,
                unsigned *out, unsigned *out_second);

/* One value whose key ends in a word (NULL: not a word of the enumeration) or in a number. */
int answer_word(const char *function, nvmlDevice_t device, const char *prefix, const char *word,
                unsigned *out);
int answer_numbered(const char *function, nvmlDevice_t device, const char *prefix,
                    unsigned number, unsigned *out);

/* A key made of parts: key_of(buffer, "clock.%s", "sm"). */
enum { KEY_SIZE = 160 };
const char *key_of(char *buffer, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Now, in microseconds since 1970, as the driver stamps its samples. */
u64 now_microseconds(void);

/* The word of an enumeration, or NULL when it has none. */
const char *word_of(const char *const *words, unsigned count, unsigned value);

/* Handles: one per card and one per MIG device, alike for the life of the process. */
nvmlDevice_t handle_of(int device, int mig);
bool is_handle(nvmlDevice_t device);

bool is_initialized(void);

#define UINT_GETTER(function, key)                                                  \
    API int function(nvmlDevice_t device, unsigned *out) {                          \
        return answer_uint(#function, device, key, out);                            \
    }
#define U64_GETTER(function, key)                                                   \
    API int function(nvmlDevice_t device, u64 *out) {                               \
        return answer_u64(#function, device, key, out);                             \
    }
#define TEXT_GETTER(function, key)                                                  \
    API int function(nvmlDevice_t device, char *out, unsigned size) {               \
        return answer_text(#function, device, key, out, size);                      \
    }

#endif
