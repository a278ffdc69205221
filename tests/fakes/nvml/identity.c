/* What a card is and the modes it runs in. */
#include "answer.h"

#include <stdio.h>
#include <string.h>

UINT_GETTER(nvmlDeviceGetArchitecture, "architecture")
UINT_GETTER(nvmlDeviceGetBrand, "brand")
UINT_GETTER(nvmlDeviceGetBoardId, "board_id")
UINT_GETTER(nvmlDeviceGetModuleId, "module_id")
UINT_GETTER(nvmlDeviceGetMultiGpuBoard, "multi_gpu_board")
UINT_GETTER(nvmlDeviceGetIrqNum, "irq")
UINT_GETTER(nvmlDeviceGetNumGpuCores, "cores")
UINT_GETTER(nvmlDeviceGetMemoryBusWidth, "memory_bus_width")
UINT_GETTER(nvmlDeviceGetPersistenceMode, "persistence_mode")
UINT_GETTER(nvmlDeviceGetComputeMode, "compute_mode")
UINT_GETTER(nvmlDeviceGetDisplayMode, "display_mode")
UINT_GETTER(nvmlDeviceGetDisplayActive, "display_active")
UINT_GETTER(nvmlDeviceGetPowerSource, "power_source")
UINT_GETTER(nvmlDeviceGetPowerManagementMode, "power_management")
UINT_GETTER(nvmlDeviceGetNumaNodeId, "numa_node")
TEXT_GETTER(nvmlDeviceGetVbiosVersion, "vbios")
TEXT_GETTER(nvmlDeviceGetBoardPartNumber, "board_part_number")
TEXT_GETTER(nvmlDeviceGetInforomImageVersion, "inforom_image")

API int nvmlDeviceGetVirtualizationMode(nvmlDevice_t device, unsigned *out) {
    return answer_uint("nvmlDeviceGetVirtualizationMode", device, "virtualization_mode", out);
}

API int nvmlDeviceGetGspFirmwareMode(nvmlDevice_t device, unsigned *enabled,
                                     unsigned *default_mode) {
    return answer_pair("nvmlDeviceGetGspFirmwareMode", device, "gsp_mode", "gsp_mode_default",
                       enabled, default_mode);
}

API int nvmlDeviceGetGspFirmwareVersion(nvmlDevice_t device, char *out) {
    return answer_text("nvmlDeviceGetGspFirmwareVersion", device, "gsp_version", out, 64);
}

API int nvmlDeviceGetCudaComputeCapability(nvmlDevice_t device, int *major, int *minor) {
    char text[16];
    int result = answer_text("nvmlDeviceGetCudaComputeCapability", device, "compute_capability",
                             text, sizeof text);
    if (!result && sscanf(text, "%d.%d", major, minor) != 2) result = UNKNOWN;
    return result;
}

struct pci_info {
    char bus_id_legacy[16];
    unsigned domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

API int nvmlDeviceGetPciInfo_v3(nvmlDevice_t device, struct pci_info *out) {
    memset(out, 0, sizeof *out);
    int result = answer_text("nvmlDeviceGetPciInfo_v3", device, "bus_id", out->bus_id,
                             sizeof out->bus_id);
    if (result) return result;
    sscanf(out->bus_id, "%x:%x:%x", &out->domain, &out->bus, &out->device);
    snprintf(out->bus_id_legacy, sizeof out->bus_id_legacy, "%04X:%02X:%02X.0",
             out->domain & 0xffff, out->bus & 0xff, out->device & 0xff);
    get_uint(*device, "pci_device_id", &out->device_id);
    get_uint(*device, "pci_subsystem_id", &out->subsystem_id);
    return OK;
}

/* `topology.3 = 40`: how far this card is from card 3, as nvmlGpuTopologyLevel_t. */
API int nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t device, nvmlDevice_t other,
                                            unsigned *out) {
    if (!is_handle(other)) return INVALID_ARGUMENT;
    return answer_numbered("nvmlDeviceGetTopologyCommonAncestor", device, "topology",
                           (unsigned)other->device, out);
}

API int nvmlDeviceGetP2PStatus(nvmlDevice_t device, nvmlDevice_t other, unsigned index,
                               unsigned *out) {
    (void)index;
    if (!is_handle(other)) return INVALID_ARGUMENT;
    return answer_numbered("nvmlDeviceGetP2PStatus", device, "p2p", (unsigned)other->device, out);
}
