/* Which cards are there, their handles and who they are. */
#include "answer.h"

#include <string.h>
#include <strings.h>

static struct subject cards[MAX_DEVICES];
static struct subject slices[MAX_DEVICES][MAX_MIG];

nvmlDevice_t handle_of(int device, int mig) {
    struct subject *handle = mig < 0 ? &cards[device] : &slices[device][mig];
    *handle = (struct subject){device, mig};
    return handle;
}

bool is_handle(nvmlDevice_t device) {
    const char *at = (const char *)device;
    return (at >= (char *)cards && at < (char *)cards + sizeof cards) ||
           (at >= (char *)slices && at < (char *)slices + sizeof slices);
}

static int device_count(const char *function, unsigned *out) {
    int result = is_initialized() ? begin(function, NOBODY, "count") : UNINITIALIZED;
    if (result == OK) *out = known_count(true);
    return result;
}

API int nvmlDeviceGetCount_v2(unsigned *out) { return device_count("nvmlDeviceGetCount_v2", out); }

API int nvmlDeviceGetCount(unsigned *out) { return device_count("nvmlDeviceGetCount", out); }

static int give_handle(const char *function, int card, nvmlDevice_t *out) {
    nvmlDevice_t handle = handle_of(card, -1);
    int result = begin_device(function, handle, "handle");
    if (result == OK) *out = handle;
    return result;
}

API int nvmlDeviceGetHandleByIndex_v2(unsigned index, nvmlDevice_t *out) {
    if (!is_initialized()) return UNINITIALIZED;
    if (index >= known_count(false)) return INVALID_ARGUMENT;
    return give_handle("nvmlDeviceGetHandleByIndex_v2", card_at(index), out);
}

API int nvmlDeviceGetHandleByIndex(unsigned index, nvmlDevice_t *out) {
    return nvmlDeviceGetHandleByIndex_v2(index, out);
}

static int handle_by_text(const char *function, const char *key, const char *wanted,
                          nvmlDevice_t *out) {
    char text[VALUE_SIZE];
    if (!is_initialized()) return UNINITIALIZED;
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        if (scenario_text(card, key, text, sizeof text) >= 0 && strcasecmp(text, wanted) == 0)
            return give_handle(function, card.device, out);
    }
    return NOT_FOUND;
}

static int mig_by_uuid(const char *function, const char *wanted, nvmlDevice_t *out) {
    char text[VALUE_SIZE];
    for (unsigned index = 0; index < known_count(false); index++)
        for (int mig = 0; mig < MAX_MIG; mig++) {
            struct subject who = {card_at(index), mig};
            if (scenario_text(who, "uuid", text, sizeof text) < 0) continue;
            if (strcmp(text, wanted)) continue;
            *out = handle_of(who.device, mig);
            return begin_device(function, *out, "handle");
        }
    return NOT_FOUND;
}

API int nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *out) {
    if (strncmp(uuid, "MIG", 3) == 0) return mig_by_uuid("nvmlDeviceGetHandleByUUID", uuid, out);
    return handle_by_text("nvmlDeviceGetHandleByUUID", "uuid", uuid, out);
}

API int nvmlDeviceGetHandleBySerial(const char *serial, nvmlDevice_t *out) {
    return handle_by_text("nvmlDeviceGetHandleBySerial", "serial", serial, out);
}

API int nvmlDeviceGetHandleByPciBusId_v2(const char *bus_id, nvmlDevice_t *out) {
    return handle_by_text("nvmlDeviceGetHandleByPciBusId_v2", "bus_id", bus_id, out);
}

API int nvmlDeviceGetIndex(nvmlDevice_t device, unsigned *out) {
    int result = begin_device("nvmlDeviceGetIndex", device, "index");
    if (result || get_uint(*device, "index", out) == OK) return result;
    *out = device->mig >= 0 ? (unsigned)device->mig : (unsigned)index_of(device->device);
    return OK;
}

TEXT_GETTER(nvmlDeviceGetName, "name")
TEXT_GETTER(nvmlDeviceGetUUID, "uuid")
TEXT_GETTER(nvmlDeviceGetSerial, "serial")
UINT_GETTER(nvmlDeviceGetMinorNumber, "minor")
