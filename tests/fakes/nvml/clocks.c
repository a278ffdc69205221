/* Clocks, what holds them down and for how long it did, and the performance state. */
#include "answer.h"

static const char *clock_word(unsigned type) {
    static const char *const words[] = {"graphics", "sm", "memory", "video"};
    return word_of(words, 4, type);
}

API int nvmlDeviceGetClockInfo(nvmlDevice_t device, unsigned type, unsigned *out) {
    return answer_word("nvmlDeviceGetClockInfo", device, "clock", clock_word(type), out);
}

API int nvmlDeviceGetMaxClockInfo(nvmlDevice_t device, unsigned type, unsigned *out) {
    return answer_word("nvmlDeviceGetMaxClockInfo", device, "max_clock", clock_word(type), out);
}

API int nvmlDeviceGetApplicationsClock(nvmlDevice_t device, unsigned type, unsigned *out) {
    return answer_word("nvmlDeviceGetApplicationsClock", device, "app_clock", clock_word(type),
                       out);
}

API int nvmlDeviceGetClock(nvmlDevice_t device, unsigned type, unsigned id, unsigned *out) {
    static const char *const kinds[] = {"clock", "app_clock", "default_app_clock", "boost_clock"};
    const char *kind = word_of(kinds, 4, id);
    if (!kind) return INVALID_ARGUMENT;
    return answer_word("nvmlDeviceGetClock", device, kind, clock_word(type), out);
}

U64_GETTER(nvmlDeviceGetCurrentClocksEventReasons, "clock_reasons")
U64_GETTER(nvmlDeviceGetCurrentClocksThrottleReasons, "clock_reasons")
U64_GETTER(nvmlDeviceGetSupportedClocksEventReasons, "clock_reasons_supported")
U64_GETTER(nvmlDeviceGetSupportedClocksThrottleReasons, "clock_reasons_supported")
UINT_GETTER(nvmlDeviceGetPerformanceState, "performance_state")
UINT_GETTER(nvmlDeviceGetPowerState, "performance_state")

struct violation_time {
    u64 reference_microseconds, violation_nanoseconds;
};

API int nvmlDeviceGetViolationStatus(nvmlDevice_t device, unsigned policy,
                                     struct violation_time *out) {
    static const char *const words[] = {
        "power", "thermal", "sync_boost", "board_limit", "low_utilization", "reliability",
        [10] = "app_clocks", [11] = "base_clocks",
    };
    char key[KEY_SIZE];
    const char *word = word_of(words, 12, policy);
    if (!word) return INVALID_ARGUMENT;
    out->reference_microseconds = now_microseconds();
    return answer_u64("nvmlDeviceGetViolationStatus", device, key_of(key, "violation.%s", word),
                      &out->violation_nanoseconds);
}
