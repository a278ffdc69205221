/* Memory errors and what the card did about them: retired pages, remapped rows. */
#include "answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const types[] = {"corrected", "uncorrected"};
static const char *const counters[] = {"volatile", "aggregate"};

API int nvmlDeviceGetEccMode(nvmlDevice_t device, unsigned *current, unsigned *pending) {
    return answer_pair("nvmlDeviceGetEccMode", device, "ecc_mode", "ecc_mode_pending", current,
                       pending);
}

API int nvmlDeviceGetTotalEccErrors(nvmlDevice_t device, unsigned type, unsigned counter,
                                    u64 *out) {
    char key[KEY_SIZE];
    if (type > 1 || counter > 1) return INVALID_ARGUMENT;
    return answer_u64("nvmlDeviceGetTotalEccErrors", device,
                      key_of(key, "ecc.%s.%s", types[type], counters[counter]), out);
}

API int nvmlDeviceGetMemoryErrorCounter(nvmlDevice_t device, unsigned type, unsigned counter,
                                        unsigned location, u64 *out) {
    static const char *const places[] = {"l1", "l2", "dram", "register", "texture", "texture_shm",
                                         "cbu", "sram"};
    char key[KEY_SIZE];
    if (type > 1 || counter > 1 || location > 7) return INVALID_ARGUMENT;
    key_of(key, "ecc.%s.%s.%s", types[type], counters[counter], places[location]);
    return answer_u64("nvmlDeviceGetMemoryErrorCounter", device, key, out);
}

struct sram_status {
    unsigned version;
    u64 counts[11];
    unsigned threshold_exceeded;
};

API int nvmlDeviceGetSramEccErrorStatus(nvmlDevice_t device, struct sram_status *out) {
    static const char *const keys[] = {
        "sram.uncorrected_parity.aggregate", "sram.uncorrected_secded.aggregate",
        "sram.corrected.aggregate",          "sram.uncorrected_parity.volatile",
        "sram.uncorrected_secded.volatile",  "sram.corrected.volatile",
        "sram.bucket.l2",                    "sram.bucket.sm",
        "sram.bucket.pcie",                  "sram.bucket.mcu",
        "sram.bucket.other",
    };
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    int result = answer_uint("nvmlDeviceGetSramEccErrorStatus", device, "sram.threshold_exceeded",
                             &out->threshold_exceeded);
    for (int i = 0; i < 11 && !result; i++)
        if (get_u64(*device, keys[i], &out->counts[i])) out->counts[i] = 0;
    return result;
}

API int nvmlDeviceGetRemappedRows(nvmlDevice_t device, unsigned *corrected, unsigned *uncorrected,
                                  unsigned *pending, unsigned *failed) {
    int result = begin_device("nvmlDeviceGetRemappedRows", device, "remapped_rows");
    if (!result) result = get_uint(*device, "remapped_rows.corrected", corrected);
    if (!result) result = get_uint(*device, "remapped_rows.uncorrected", uncorrected);
    if (!result) result = get_uint(*device, "remapped_rows.pending", pending);
    if (!result) result = get_uint(*device, "remapped_rows.failed", failed);
    return result;
}

API int nvmlDeviceGetRowRemapperHistogram(nvmlDevice_t device, unsigned *out) {
    static const char *const keys[] = {"remap_banks.max", "remap_banks.high",
                                       "remap_banks.partial", "remap_banks.low",
                                       "remap_banks.none"};
    int result = begin_device("nvmlDeviceGetRowRemapperHistogram", device, "remap_banks");
    for (int i = 0; i < 5 && !result; i++) result = get_uint(*device, keys[i], &out[i]);
    return result;
}

/* `retired_pages.single_bit = ADDRESS[:SECONDS] …`, and the same for `double_bit`. */
static int retired_pages(const char *function, nvmlDevice_t device, unsigned cause,
                         unsigned *count, u64 *addresses, u64 *moments) {
    static const char *const causes[] = {"single_bit", "double_bit"};
    char key[KEY_SIZE], text[VALUE_SIZE], *rest = text;
    unsigned room = addresses ? *count : 0, found = 0;
    if (cause > 1) return INVALID_ARGUMENT;
    int result = begin_device(function, device, key_of(key, "retired_pages.%s", causes[cause]));
    if (result) return result;
    if (scenario_text(*device, key, text, sizeof text) < 0) return NOT_SUPPORTED;
    for (char *item; (item = strsep(&rest, " "));) {
        if (!*item) continue;
        char *colon = strchr(item, ':');
        if (found < room) addresses[found] = strtoull(item, NULL, 0);
        if (found < room && moments) moments[found] = colon ? strtoull(colon + 1, NULL, 0) : 0;
        found++;
    }
    *count = found;
    return found > room ? INSUFFICIENT_SIZE : OK;
}

API int nvmlDeviceGetRetiredPages(nvmlDevice_t device, unsigned cause, unsigned *count,
                                  u64 *addresses) {
    return retired_pages("nvmlDeviceGetRetiredPages", device, cause, count, addresses, NULL);
}

API int nvmlDeviceGetRetiredPages_v2(nvmlDevice_t device, unsigned cause, unsigned *count,
                                     u64 *addresses, u64 *moments) {
    return retired_pages("nvmlDeviceGetRetiredPages_v2", device, cause, count, addresses, moments);
}

UINT_GETTER(nvmlDeviceGetRetiredPagesPendingStatus, "retired_pages_pending")

/* `inforom = error 14` is a card whose infoROM is corrupted. */
API int nvmlDeviceValidateInforom(nvmlDevice_t device) {
    return begin_device("nvmlDeviceValidateInforom", device, "inforom");
}

struct repair_status {
    unsigned version, channel, tpc;
};

API int nvmlDeviceGetRepairStatus(nvmlDevice_t device, struct repair_status *out) {
    if (out->version != (1u << 24 | sizeof *out)) return VERSION_MISMATCH;
    return answer_pair("nvmlDeviceGetRepairStatus", device, "repair.channel_pending",
                       "repair.tpc_pending", &out->channel, &out->tpc);
}

struct unrepairable_memory {
    unsigned version, flag;
};

API int nvmlDeviceGetUnrepairableMemoryFlag_v1(nvmlDevice_t device,
                                               struct unrepairable_memory *out) {
    return answer_uint("nvmlDeviceGetUnrepairableMemoryFlag_v1", device, "unrepairable_memory",
                       &out->flag);
}
