/* Memory, utilization, temperature and power: what every card is asked for in every pass. */
#include "answer.h"

struct memory_v1 {
    u64 total, free, used;
};

struct memory_v2 {
    unsigned version;
    u64 total, reserved, free, used;
};

/* `used` leaves the driver's own part out; free is what is left unless the card says it. */
static int read_memory(struct subject who, struct memory_v2 *memory) {
    memory->reserved = 0;
    get_u64(who, "memory_reserved", &memory->reserved);
    int result = get_u64(who, "memory_total", &memory->total);
    if (!result) result = get_u64(who, "memory_used", &memory->used);
    if (!result && get_u64(who, "memory_free", &memory->free))
        memory->free = memory->total - memory->reserved - memory->used;
    return result;
}

API int nvmlDeviceGetMemoryInfo(nvmlDevice_t device, struct memory_v1 *out) {
    struct memory_v2 memory;
    int result = begin_device("nvmlDeviceGetMemoryInfo", device, "memory");
    if (!result) result = read_memory(*device, &memory);
    if (!result)
        *out = (struct memory_v1){memory.total, memory.free, memory.used + memory.reserved};
    return result;
}

API int nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t device, struct memory_v2 *out) {
    int result = begin_device("nvmlDeviceGetMemoryInfo_v2", device, "memory");
    if (!result && out->version != (2u << 24 | sizeof *out)) result = VERSION_MISMATCH;
    return result ? result : read_memory(*device, out);
}

struct bar1 {
    u64 total, free, used;
};

API int nvmlDeviceGetBAR1MemoryInfo(nvmlDevice_t device, struct bar1 *out) {
    int result = begin_device("nvmlDeviceGetBAR1MemoryInfo", device, "bar1");
    if (!result) result = get_u64(*device, "bar1_total", &out->total);
    if (!result) result = get_u64(*device, "bar1_used", &out->used);
    if (!result) out->free = out->total - out->used;
    return result;
}

struct utilization {
    unsigned gpu, memory;
};

API int nvmlDeviceGetUtilizationRates(nvmlDevice_t device, struct utilization *out) {
    int result = begin_device("nvmlDeviceGetUtilizationRates", device, "utilization");
    if (!result) result = get_uint(*device, "utilization_gpu", &out->gpu);
    if (!result && get_uint(*device, "utilization_memory", &out->memory)) out->memory = 0;
    return result;
}

API int nvmlDeviceGetTemperature(nvmlDevice_t device, unsigned sensor, unsigned *out) {
    if (sensor != 0) return INVALID_ARGUMENT;
    return answer_uint("nvmlDeviceGetTemperature", device, "temperature", out);
}

struct temperature_v1 {
    unsigned version, sensor;
    int temperature;
};

API int nvmlDeviceGetTemperatureV(nvmlDevice_t device, struct temperature_v1 *out) {
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    if (out->sensor != 0) return INVALID_ARGUMENT;
    return answer_uint("nvmlDeviceGetTemperatureV", device, "temperature",
                       (unsigned *)&out->temperature);
}

UINT_GETTER(nvmlDeviceGetPowerUsage, "power")
UINT_GETTER(nvmlDeviceGetEnforcedPowerLimit, "power_limit_enforced")
UINT_GETTER(nvmlDeviceGetPowerManagementLimit, "power_limit")
UINT_GETTER(nvmlDeviceGetPowerManagementDefaultLimit, "power_limit_default")
U64_GETTER(nvmlDeviceGetTotalEnergyConsumption, "energy")

API int nvmlDeviceGetPowerManagementLimitConstraints(nvmlDevice_t device, unsigned *minimum,
                                                     unsigned *maximum) {
    int result = begin_device("nvmlDeviceGetPowerManagementLimitConstraints", device,
                              "power_limit_range");
    if (!result) result = get_uint(*device, "power_limit_min", minimum);
    if (!result) result = get_uint(*device, "power_limit_max", maximum);
    return result;
}
