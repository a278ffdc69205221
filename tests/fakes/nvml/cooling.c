/* Fans, temperature thresholds and the margin to the limit. */
#include "answer.h"

UINT_GETTER(nvmlDeviceGetNumFans, "fans")
UINT_GETTER(nvmlDeviceGetFanSpeed, "fan.0")

API int nvmlDeviceGetFanSpeed_v2(nvmlDevice_t device, unsigned fan, unsigned *out) {
    return answer_numbered("nvmlDeviceGetFanSpeed_v2", device, "fan", fan, out);
}

struct fan_speed {
    unsigned version, fan, rpm;
};

API int nvmlDeviceGetFanSpeedRPM(nvmlDevice_t device, struct fan_speed *out) {
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    return answer_numbered("nvmlDeviceGetFanSpeedRPM", device, "fan_rpm", out->fan, &out->rpm);
}

API int nvmlDeviceGetTemperatureThreshold(nvmlDevice_t device, unsigned kind, unsigned *out) {
    static const char *const words[] = {
        "shutdown",         "slowdown",     "memory_max", "max_operating", "acoustic_min",
        "acoustic_current", "acoustic_max", "target",
    };
    return answer_word("nvmlDeviceGetTemperatureThreshold", device, "threshold",
                       word_of(words, 8, kind), out);
}

struct margin {
    unsigned version;
    int celsius;
};

API int nvmlDeviceGetMarginTemperature(nvmlDevice_t device, struct margin *out) {
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    return answer_uint("nvmlDeviceGetMarginTemperature", device, "margin_temperature",
                       (unsigned *)&out->celsius);
}
