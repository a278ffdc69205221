/* Profiling metrics between two samples: `gpm_supported = 1`, `gpm.sm = 62.5`, `gpm.170 = 3`. */
#include "answer.h"

#include <stdlib.h>

struct sample {
    bool taken;
    struct subject who;
};

struct support {
    unsigned version, supported;
};

struct metric {
    unsigned id, result;
    double value;
    struct {
        const char *short_name, *long_name, *unit;
    } info;
};

struct metrics {
    unsigned version, count;
    struct sample *first, *second;
    struct metric metrics[];
};

API int nvmlGpmQueryDeviceSupport(nvmlDevice_t device, struct support *out) {
    out->supported = 0;
    int result = begin_device("nvmlGpmQueryDeviceSupport", device, "gpm_supported");
    if (!result) get_uint(*device, "gpm_supported", &out->supported);
    return result;
}

API int nvmlGpmSampleAlloc(struct sample **out) {
    int result = begin("nvmlGpmSampleAlloc", NOBODY, "gpm_alloc");
    if (result) return result;
    *out = calloc(1, sizeof **out);
    return *out ? OK : UNKNOWN;
}

API int nvmlGpmSampleFree(struct sample *sample) {
    int result = begin("nvmlGpmSampleFree", NOBODY, "gpm_free");
    if (!result) free(sample);
    return result;
}

static int take(struct subject who, struct sample *sample) {
    unsigned supported = 0;
    struct subject card = {who.device, -1};
    if (get_uint(card, "gpm_supported", &supported) || !supported) return NOT_SUPPORTED;
    sample->taken = true;
    sample->who = who;
    return OK;
}

API int nvmlGpmSampleGet(nvmlDevice_t device, struct sample *sample) {
    int result = begin_device("nvmlGpmSampleGet", device, "gpm_sample");
    return result ? result : take(*device, sample);
}

API int nvmlGpmMigSampleGet(nvmlDevice_t device, unsigned instance, struct sample *sample) {
    int result = begin_device("nvmlGpmMigSampleGet", device, "gpm_mig_sample");
    for (int mig = 0; mig < MAX_MIG && !result; mig++) {
        struct subject who = {device->device, mig};
        unsigned found;
        if (get_uint(who, "gpu_instance", &found) == OK && found == instance)
            return take(who, sample);
    }
    return result ? result : INVALID_ARGUMENT;
}

static const char *metric_word(unsigned id) {
    static const char *const words[] = {
        [1] = "graphics",     [2] = "sm",           [3] = "sm_occupancy", [4] = "integer",
        [5] = "tensor",       [6] = "tensor_dfma",  [7] = "tensor_hmma",  [9] = "tensor_imma",
        [10] = "dram",        [11] = "fp64",        [12] = "fp32",        [13] = "fp16",
        [20] = "pcie_tx_mib", [21] = "pcie_rx_mib", [60] = "nvlink_rx_mib",
        [61] = "nvlink_tx_mib",
    };
    return word_of(words, sizeof words / sizeof *words, id);
}

static void fill(struct subject who, struct metric *metric) {
    char key[KEY_SIZE];
    const char *word = metric_word(metric->id);
    metric->info.short_name = metric->info.long_name = word ? word : "";
    metric->info.unit = metric->id < 14 ? "%" : "";
    int result = NOT_SUPPORTED;
    if (word) {
        result = run_due(who, key_of(key, "gpm.%s", word));
        if (!result) result = get_real(who, key, &metric->value);
    }
    if (result == NOT_SUPPORTED)
        result = get_real(who, key_of(key, "gpm.%u", metric->id), &metric->value);
    metric->result = (unsigned)result;
}

API int nvmlGpmMetricsGet(struct metrics *out) {
    if (out->version != 1) return VERSION_MISMATCH;
    if (!out->first || !out->second || !out->first->taken || !out->second->taken)
        return INVALID_ARGUMENT;
    int result = begin("nvmlGpmMetricsGet", out->second->who, "gpm_metrics");
    for (unsigned i = 0; i < out->count && !result; i++)
        fill(out->second->who, &out->metrics[i]);
    return result;
}
