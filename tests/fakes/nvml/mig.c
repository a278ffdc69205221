/* MIG devices: `device.0.mig.1.gpu_instance = 5` makes the second one of card 0 exist. */
#include "answer.h"

API int nvmlDeviceGetMigMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    return answer_pair("nvmlDeviceGetMigMode", device, "mig_mode", "mig_mode_pending", current,
                       pending);
}

UINT_GETTER(nvmlDeviceGetMaxMigDeviceCount, "mig_count_max")
UINT_GETTER(nvmlDeviceGetGpuInstanceId, "gpu_instance")
UINT_GETTER(nvmlDeviceGetComputeInstanceId, "compute_instance")

API int nvmlDeviceGetMigDeviceHandleByIndex(nvmlDevice_t device, unsigned index,
                                            nvmlDevice_t *out) {
    unsigned mode = 0, instance;
    int result = begin_device("nvmlDeviceGetMigDeviceHandleByIndex", device, "mig_handle");
    if (result) return result;
    if (device->mig >= 0 || index >= MAX_MIG) return INVALID_ARGUMENT;
    if (get_uint(*device, "mig_mode", &mode) || !mode) return NOT_SUPPORTED;
    if (get_uint((struct subject){device->device, (int)index}, "gpu_instance", &instance))
        return NOT_FOUND;
    nvmlDevice_t handle = handle_of(device->device, (int)index);
    result = run_due(*handle, "handle");
    if (result == OK) *out = handle;
    return result;
}

API int nvmlDeviceGetDeviceHandleFromMigDeviceHandle(nvmlDevice_t mig, nvmlDevice_t *out) {
    int result = begin_device("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", mig, "parent");
    if (!result && mig->mig < 0) result = INVALID_ARGUMENT;
    if (!result) *out = handle_of(mig->device, -1);
    return result;
}

API int nvmlDeviceIsMigDeviceHandle(nvmlDevice_t device, unsigned *out) {
    int result = begin_device("nvmlDeviceIsMigDeviceHandle", device, "is_mig");
    if (!result) *out = device->mig >= 0;
    return result;
}

struct attributes {
    unsigned counts[8];
    u64 memory_mib;
};

API int nvmlDeviceGetAttributes_v2(nvmlDevice_t device, struct attributes *out) {
    static const char *const keys[] = {
        "attributes.multiprocessors", "attributes.copy_engines", "attributes.decoders",
        "attributes.encoders",        "attributes.jpeg",         "attributes.ofa",
        "attributes.gpu_slices",      "attributes.compute_slices",
    };
    int result = answer_u64("nvmlDeviceGetAttributes_v2", device, "attributes.memory_mib",
                            &out->memory_mib);
    for (int i = 0; i < 8 && !result; i++)
        if (get_uint(*device, keys[i], &out->counts[i])) out->counts[i] = 0;
    return result;
}
