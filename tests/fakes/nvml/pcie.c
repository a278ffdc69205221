/* The PCIe link of a card. */
#include "answer.h"

UINT_GETTER(nvmlDeviceGetCurrPcieLinkGeneration, "pcie_generation")
UINT_GETTER(nvmlDeviceGetMaxPcieLinkGeneration, "pcie_generation_max")
UINT_GETTER(nvmlDeviceGetGpuMaxPcieLinkGeneration, "pcie_generation_card_max")
UINT_GETTER(nvmlDeviceGetCurrPcieLinkWidth, "pcie_width")
UINT_GETTER(nvmlDeviceGetMaxPcieLinkWidth, "pcie_width_max")
UINT_GETTER(nvmlDeviceGetPcieReplayCounter, "pcie_replays")
UINT_GETTER(nvmlDeviceGetPcieSpeed, "pcie_speed")
UINT_GETTER(nvmlDeviceGetPcieLinkMaxSpeed, "pcie_speed_max")

/* In KiB per second; the real call measures for 20 ms, `pcie_throughput.rx = sleep 0.02` does. */
API int nvmlDeviceGetPcieThroughput(nvmlDevice_t device, unsigned counter, unsigned *out) {
    static const char *const words[] = {"tx", "rx"};
    return answer_word("nvmlDeviceGetPcieThroughput", device, "pcie_throughput",
                       word_of(words, 2, counter), out);
}
