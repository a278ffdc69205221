/* NVLinks: `nvlink_links = 18` says how many there are, `nvlink.3.state = 0` one of them. */
#include "nvlink.h"

#include <stdio.h>
#include <string.h>

static int get_one(struct subject who, unsigned link, const char *name, u64 *out) {
    char key[KEY_SIZE];
    if (get_u64(who, key_of(key, "nvlink.%u.%s", link, name), out) == OK) return OK;
    return get_u64(who, key_of(key, "nvlink.%s", name), out);
}

int get_link(struct subject who, long link, const char *name, u64 *out) {
    unsigned links;
    u64 sum = 0;
    if (get_uint(who, "nvlink_links", &links)) return NOT_SUPPORTED;
    if (link != ALL_LINKS && (link < 0 || link >= MAX_LINKS)) return INVALID_ARGUMENT;
    if (link != ALL_LINKS && link >= (long)links) return NOT_SUPPORTED;
    if (link != ALL_LINKS) return get_one(who, (unsigned)link, name, out);
    for (unsigned i = 0; i < links; i++) {
        u64 number;
        if (get_one(who, i, name, &number)) return NOT_SUPPORTED;
        sum += number;
    }
    *out = sum;
    return OK;
}

static int answer_link(const char *function, nvmlDevice_t device, unsigned link, const char *name,
                       u64 *out) {
    char key[KEY_SIZE];
    if (!name) return INVALID_ARGUMENT;
    int result = begin_device(function, device, key_of(key, "nvlink.%u.%s", link, name));
    if (!result) result = run_due(*device, key_of(key, "nvlink.%s", name));
    return result ? result : get_link(*device, link, name, out);
}

static int answer_link_uint(const char *function, nvmlDevice_t device, unsigned link,
                            const char *name, unsigned *out) {
    u64 number;
    int result = answer_link(function, device, link, name, &number);
    if (!result) *out = (unsigned)number;
    return result;
}

API int nvmlDeviceGetNvLinkState(nvmlDevice_t device, unsigned link, unsigned *out) {
    return answer_link_uint("nvmlDeviceGetNvLinkState", device, link, "state", out);
}

API int nvmlDeviceGetNvLinkVersion(nvmlDevice_t device, unsigned link, unsigned *out) {
    return answer_link_uint("nvmlDeviceGetNvLinkVersion", device, link, "version", out);
}

API int nvmlDeviceGetNvLinkRemoteDeviceType(nvmlDevice_t device, unsigned link, unsigned *out) {
    return answer_link_uint("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, "remote_type",
                            out);
}

API int nvmlDeviceGetNvLinkErrorCounter(nvmlDevice_t device, unsigned link, unsigned counter,
                                        u64 *out) {
    static const char *const words[] = {"replay", "recovery", "crc_flit", "crc_data", "ecc_data"};
    return answer_link("nvmlDeviceGetNvLinkErrorCounter", device, link,
                       word_of(words, 5, counter), out);
}

API int nvmlDeviceGetNvLinkCapability(nvmlDevice_t device, unsigned link, unsigned capability,
                                      unsigned *out) {
    char name[32];
    snprintf(name, sizeof name, "capability_%u", capability);
    return answer_link_uint("nvmlDeviceGetNvLinkCapability", device, link, name, out);
}

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

API int nvmlDeviceGetNvLinkRemotePciInfo_v2(nvmlDevice_t device, unsigned link,
                                            struct pci_info *out) {
    char key[KEY_SIZE];
    memset(out, 0, sizeof *out);
    key_of(key, "nvlink.%u.remote_bus_id", link);
    int result = answer_text("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, key, out->bus_id,
                             sizeof out->bus_id);
    if (!result) sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    return result;
}
