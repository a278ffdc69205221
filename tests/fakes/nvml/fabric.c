/* The NVLink fabric a card belongs to. */
#include "answer.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

struct fabric_v1 {
    unsigned char cluster[16];
    unsigned status, clique;
    unsigned char state; /* followed by padding that a caller reads as one unsigned */
    unsigned char padding[3];
};

struct fabric_v3 {
    unsigned version;
    unsigned char cluster[16];
    unsigned status, clique, state, health_mask;
    unsigned char health_summary;
};

struct platform_v2 {
    unsigned version;
    char guid[16], chassis_serial[16];
    unsigned char slot, tray, host, peer_type, module;
};

/* `fabric_cluster` is 32 hexadecimal digits. */
static void get_cluster(struct subject who, unsigned char *cluster) {
    char digits[40] = "";
    get_text(who, "fabric_cluster", digits, sizeof digits);
    memset(cluster, 0, 16);
    for (size_t i = 0; i < 16 && digits[2 * i] && digits[2 * i + 1]; i++) {
        unsigned byte = 0;
        sscanf(digits + 2 * i, "%2x", &byte);
        cluster[i] = (unsigned char)byte;
    }
}

static unsigned or_zero(struct subject who, const char *key) {
    unsigned number = 0;
    get_uint(who, key, &number);
    return number;
}

API int nvmlDeviceGetGpuFabricInfo(nvmlDevice_t device, struct fabric_v1 *out) {
    unsigned state;
    int result = answer_uint("nvmlDeviceGetGpuFabricInfo", device, "fabric_state", &state);
    if (result) return result;
    memset(out, 0, sizeof *out);
    get_cluster(*device, out->cluster);
    out->status = or_zero(*device, "fabric_status");
    out->clique = or_zero(*device, "fabric_clique");
    out->state = (unsigned char)state;
    return OK;
}

/* `fabric_version = 2` is a driver that does not know the third form of the answer yet. */
API int nvmlDeviceGetGpuFabricInfoV(nvmlDevice_t device, struct fabric_v3 *out) {
    const unsigned second = 2u << 24 | offsetof(struct fabric_v3, health_summary);
    const unsigned third = 3u << 24 | sizeof *out;
    unsigned newest = 3, state;
    int result = answer_uint("nvmlDeviceGetGpuFabricInfoV", device, "fabric_state", &state);
    if (result) return result;
    get_uint(*device, "fabric_version", &newest);
    if (out->version != second && (out->version != third || newest < 3)) return VERSION_MISMATCH;
    get_cluster(*device, out->cluster);
    out->status = or_zero(*device, "fabric_status");
    out->clique = or_zero(*device, "fabric_clique");
    out->state = state;
    out->health_mask = or_zero(*device, "fabric_health");
    if (out->version == third)
        out->health_summary = (unsigned char)or_zero(*device, "fabric_health_summary");
    return OK;
}

API int nvmlDeviceGetPlatformInfo(nvmlDevice_t device, struct platform_v2 *out) {
    char serial[17] = "";
    unsigned slot;
    int result = answer_uint("nvmlDeviceGetPlatformInfo", device, "chassis_slot", &slot);
    if (result) return result;
    if (out->version != (2u << 24 | sizeof *out)) return VERSION_MISMATCH;
    get_text(*device, "chassis_serial", serial, sizeof serial);
    memcpy(out->chassis_serial, serial, 16);
    out->slot = (unsigned char)slot;
    out->tray = (unsigned char)or_zero(*device, "chassis_tray");
    return OK;
}
