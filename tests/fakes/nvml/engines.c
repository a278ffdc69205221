/* The video, JPEG and optical-flow engines. */
#include "answer.h"

#define ENGINE_GETTER(function, key)                                                        \
    API int function(nvmlDevice_t device, unsigned *percent, unsigned *sampling_period) {   \
        *sampling_period = 167000;                                                          \
        return answer_uint(#function, device, key, percent);                                \
    }

ENGINE_GETTER(nvmlDeviceGetEncoderUtilization, "encoder_utilization")
ENGINE_GETTER(nvmlDeviceGetDecoderUtilization, "decoder_utilization")
ENGINE_GETTER(nvmlDeviceGetJpgUtilization, "jpeg_utilization")
ENGINE_GETTER(nvmlDeviceGetOfaUtilization, "ofa_utilization")


API int nvmlDeviceGetEncoderStats(nvmlDevice_t device, unsigned *sessions,
                                  unsigned *frames_per_second, unsigned *latency) {
    int result = answer_uint("nvmlDeviceGetEncoderStats", device, "encoder_sessions", sessions);
    *frames_per_second = *latency = 0;
    if (!result) get_uint(*device, "encoder_frames_per_second", frames_per_second);
    return result;
}
