/* Which properties the program knows and where the scenario says them. */
#include "smi.h"

#include <string.h>

static const struct property table[] = {
    {"timestamp", "", TIMESTAMP, 0, NULL},
    {"driver_version", "driver_version", TEXT, 0, NULL},
    {"count", "count", COUNT, 0, NULL},
    {"index", "index", INDEX, 0, NULL},
    {"name", "name", TEXT, 0, NULL},
    {"serial", "serial", TEXT, 0, NULL},
    {"uuid", "uuid", TEXT, 0, NULL},
    {"pci.bus_id", "bus_id", TEXT, 0, NULL},
    {"pci.domain", "bus_id", PCI_DOMAIN, 0, NULL},
    {"pci.bus", "bus_id", PCI_BUS, 0, NULL},
    {"pci.device", "bus_id", PCI_DEVICE, 0, NULL},
    {"pci.device_id", "pci_device_id", HEX8, 0, NULL},
    {"pci.sub_device_id", "pci_subsystem_id", HEX8, 0, NULL},
    {"pcie.link.gen.current", "pcie_generation", NUMBER, 0, NULL},
    {"pcie.link.gen.gpucurrent", "pcie_generation", NUMBER, 0, NULL},
    {"pcie.link.gen.max", "pcie_generation_max", NUMBER, 0, NULL},
    {"pcie.link.gen.gpumax", "pcie_generation_card_max", NUMBER, 0, NULL},
    {"pcie.link.width.current", "pcie_width", NUMBER, 0, NULL},
    {"pcie.link.width.max", "pcie_width_max", NUMBER, 0, NULL},
    {"display_active", "display_active", ENABLED, 0, NULL},
    {"persistence_mode", "persistence_mode", ENABLED, 0, NULL},
    {"vbios_version", "vbios", TEXT, 0, NULL},
    {"inforom.img", "inforom_image", TEXT, 0, NULL},
    {"gpu_recovery_action", "recovery_action", RECOVERY, 0, NULL},
    {"fan.speed", "fan.0", PERCENT, 0, NULL},
    {"pstate", "performance_state", PSTATE, 0, NULL},
    {"clocks_event_reasons.supported", "clock_reasons_supported", HEX16, 0, NULL},
    {"clocks_event_reasons.active", "clock_reasons", HEX16, 0, NULL},
    {"clocks_event_reasons.gpu_idle", "clock_reasons", ACTIVE, 0, NULL},
    {"clocks_event_reasons.applications_clocks_setting", "clock_reasons", ACTIVE, 1, NULL},
    {"clocks_event_reasons.sw_power_cap", "clock_reasons", ACTIVE, 2, NULL},
    {"clocks_event_reasons.hw_slowdown", "clock_reasons", ACTIVE, 3, NULL},
    {"clocks_event_reasons.sync_boost", "clock_reasons", ACTIVE, 4, NULL},
    {"clocks_event_reasons.sw_thermal_slowdown", "clock_reasons", ACTIVE, 5, NULL},
    {"clocks_event_reasons.hw_thermal_slowdown", "clock_reasons", ACTIVE, 6, NULL},
    {"clocks_event_reasons.hw_power_brake_slowdown", "clock_reasons", ACTIVE, 7, NULL},
    {"clocks_event_reasons.display_clock_setting", "clock_reasons", ACTIVE, 8, NULL},
    {"clocks_event_reasons_counters.sw_power_cap", "violation.power", MICROSECONDS, 0, NULL},
    {"clocks_event_reasons_counters.sync_boost", "violation.sync_boost", MICROSECONDS, 0, NULL},
    {"clocks_event_reasons_counters.sw_thermal_slowdown", "violation.sw_thermal", MICROSECONDS, 0,
     NULL},
    {"clocks_event_reasons_counters.hw_thermal_slowdown", "violation.hw_thermal", MICROSECONDS, 0,
     NULL},
    {"clocks_event_reasons_counters.hw_power_brake_slowdown", "violation.hw_power_brake",
     MICROSECONDS, 0, NULL},
    {"memory.total", "memory_total", MEBIBYTES, 0, "memory"},
    {"memory.reserved", "memory_reserved", MEBIBYTES, 0, "memory"},
    {"memory.used", "memory_used", MEBIBYTES, 0, "memory"},
    {"memory.free", "memory_free", FREE_MEMORY, 0, "memory"},
    {"compute_mode", "compute_mode", COMPUTE_MODE, 0, NULL},
    {"compute_cap", "compute_capability", TEXT, 0, NULL},
    {"utilization.gpu", "utilization_gpu", PERCENT, 0, "utilization"},
    {"utilization.memory", "utilization_memory", PERCENT, 0, "utilization"},
    {"utilization.encoder", "encoder_utilization", PERCENT, 0, NULL},
    {"utilization.decoder", "decoder_utilization", PERCENT, 0, NULL},
    {"utilization.jpeg", "jpeg_utilization", PERCENT, 0, NULL},
    {"utilization.ofa", "ofa_utilization", PERCENT, 0, NULL},
    {"encoder.stats.sessionCount", "encoder_sessions", NUMBER, 0, NULL},
    {"ecc.mode.current", "ecc_mode", ENABLED, 0, NULL},
    {"ecc.mode.pending", "ecc_mode", ENABLED, 0, NULL},
    {"ecc.errors.uncorrected.volatile.sram.parity", "sram.uncorrected_parity.volatile", NUMBER, 0,
     NULL},
    {"ecc.errors.uncorrected.volatile.sram.secded", "sram.uncorrected_secded.volatile", NUMBER, 0,
     NULL},
    {"ecc.errors.uncorrected.aggregate.sram.parity", "sram.uncorrected_parity.aggregate", NUMBER,
     0, NULL},
    {"ecc.errors.uncorrected.aggregate.sram.secded", "sram.uncorrected_secded.aggregate", NUMBER,
     0, NULL},
    {"ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", "sram.threshold_exceeded", YES_NO,
     0, NULL},
    {"retired_pages.single_bit_ecc.count", "retired_pages.single_bit", LENGTH, 0, NULL},
    {"retired_pages.double_bit.count", "retired_pages.double_bit", LENGTH, 0, NULL},
    {"retired_pages.pending", "retired_pages_pending", YES_NO, 0, NULL},
    {"remapped_rows.correctable", "remapped_rows.corrected", NUMBER, 0, "remapped_rows"},
    {"remapped_rows.uncorrectable", "remapped_rows.uncorrected", NUMBER, 0, "remapped_rows"},
    {"remapped_rows.pending", "remapped_rows.pending", YES_NO, 0, "remapped_rows"},
    {"remapped_rows.failure", "remapped_rows.failed", YES_NO, 0, "remapped_rows"},
    {"remapped_rows.histogram.max", "remap_banks.max", NUMBER, 0, "remap_banks"},
    {"remapped_rows.histogram.high", "remap_banks.high", NUMBER, 0, "remap_banks"},
    {"remapped_rows.histogram.partial", "remap_banks.partial", NUMBER, 0, "remap_banks"},
    {"remapped_rows.histogram.low", "remap_banks.low", NUMBER, 0, "remap_banks"},
    {"remapped_rows.histogram.none", "remap_banks.none", NUMBER, 0, "remap_banks"},
    {"temperature.gpu", "temperature", NUMBER, 0, NULL},
    {"temperature.gpu.tlimit", "margin_temperature", NUMBER, 0, NULL},
    {"temperature.memory", "memory_temperature", NUMBER, 0, NULL},
    {"power.draw", "power", WATTS, 0, NULL},
    {"power.draw.average", "power_average", WATTS, 0, NULL},
    {"power.draw.instant", "power_instant", WATTS, 0, NULL},
    {"power.limit", "power_limit", WATTS, 0, NULL},
    {"enforced.power.limit", "power_limit_enforced", WATTS, 0, NULL},
    {"power.default_limit", "power_limit_default", WATTS, 0, NULL},
    {"power.min_limit", "power_limit_min", WATTS, 0, "power_limit_range"},
    {"power.max_limit", "power_limit_max", WATTS, 0, "power_limit_range"},
    {"clocks.current.graphics", "clock.graphics", MEGAHERTZ, 0, NULL},
    {"clocks.current.sm", "clock.sm", MEGAHERTZ, 0, NULL},
    {"clocks.current.memory", "clock.memory", MEGAHERTZ, 0, NULL},
    {"clocks.current.video", "clock.video", MEGAHERTZ, 0, NULL},
    {"clocks.applications.graphics", "app_clock.graphics", MEGAHERTZ, 0, NULL},
    {"clocks.applications.memory", "app_clock.memory", MEGAHERTZ, 0, NULL},
    {"clocks.default_applications.graphics", "default_app_clock.graphics", MEGAHERTZ, 0, NULL},
    {"clocks.default_applications.memory", "default_app_clock.memory", MEGAHERTZ, 0, NULL},
    {"clocks.max.graphics", "max_clock.graphics", MEGAHERTZ, 0, NULL},
    {"clocks.max.sm", "max_clock.sm", MEGAHERTZ, 0, NULL},
    {"clocks.max.memory", "max_clock.memory", MEGAHERTZ, 0, NULL},
    {"mig.mode.current", "mig_mode", ENABLED, 0, NULL},
    {"mig.mode.pending", "mig_mode", ENABLED, 0, NULL},
    {"gsp.mode.current", "gsp_mode", ENABLED, 0, NULL},
    {"gsp.mode.default", "gsp_mode", ENABLED, 0, NULL},
    {"fabric.state", "fabric_state", FABRIC, 0, NULL},
    {"fabric.status", "fabric_status", FABRIC_STATUS, 0, NULL},
    {"fabric.health.summary", "fabric_health_summary", FABRIC_SUMMARY, 0, NULL},
    {"fabric.health.bandwidth", "fabric_health", FABRIC_BANDWIDTH, 0, NULL},
    {"fabric.health.route_recovery_in_progress", "fabric_health", FABRIC_FLAG, 2, NULL},
    {"fabric.health.route_unhealthy", "fabric_health", FABRIC_FLAG, 4, NULL},
    {"fabric.health.access_timeout_recovery", "fabric_health", FABRIC_FLAG, 6, NULL},
    {"fabric.health.incorrect_configuration", "fabric_health", FABRIC_CONFIGURATION, 8, NULL},
    {"platform.module_id", "module_id", NUMBER, 0, NULL},
};

static const struct {
    const char *alias, *name;
} aliases[] = {
    {"gpu_name", "name"},
    {"gpu_serial", "serial"},
    {"gpu_uuid", "uuid"},
    {"gpu_bus_id", "pci.bus_id"},
    {"inforom.image", "inforom.img"},
    {"retired_pages.sbe", "retired_pages.single_bit_ecc.count"},
    {"retired_pages.dbe", "retired_pages.double_bit.count"},
    {"remapped_rows.sbe", "remapped_rows.correctable"},
    {"remapped_rows.dbe", "remapped_rows.uncorrectable"},
    {"clocks.gr", "clocks.current.graphics"},
    {"clocks.sm", "clocks.current.sm"},
    {"clocks.mem", "clocks.current.memory"},
    {"clocks.video", "clocks.current.video"},
    {"clocks.max.gr", "clocks.max.graphics"},
    {"clocks.max.mem", "clocks.max.memory"},
};

/* `ecc.errors.corrected.volatile.dram` is said under `ecc.corrected.volatile.dram`. */
static bool find_ecc(const char *name, struct property *found) {
    static const struct {
        const char *place, *key;
    } places[] = {
        {"device_memory", ".dram"}, {"dram", ".dram"},          {"register_file", ".register"},
        {"l1_cache", ".l1"},        {"l2_cache", ".l2"},        {"texture_memory", ".texture"},
        {"cbu", ".cbu"},            {"sram", ".sram"},          {"total", ""},
    };
    static char key[NAME_SIZE];
    char type[16], counter[16], place[32];
    if (sscanf(name, "ecc.errors.%15[^.].%15[^.].%31s", type, counter, place) != 3) return false;
    if (strcmp(type, "corrected") && strcmp(type, "uncorrected")) return false;
    if (strcmp(counter, "volatile") && strcmp(counter, "aggregate")) return false;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        if (strcmp(place, places[i].place)) continue;
        snprintf(key, sizeof key, "ecc.%s.%s%s", type, counter, places[i].key);
        *found = (struct property){name, key, NUMBER, 0, NULL};
        return true;
    }
    return false;
}

/* Taken away by `smi.unknown_fields = a,b*`, as an older nvidia-smi lacks the newer ones. */
static bool is_taken_away(const char *name) {
    char list[4096], *rest = list;
    if (scenario_text(NOBODY, "smi.unknown_fields", list, sizeof list) < 0) return false;
    for (char *item; (item = strsep(&rest, ","));) {
        size_t length = strlen(item);
        bool pattern = length && item[length - 1] == '*';
        if (pattern ? strncmp(item, name, length - 1) == 0 : strcmp(item, name) == 0) return true;
    }
    return false;
}

bool find_property(const char *name, struct property *found) {
    static const char older[] = "clocks_throttle_reasons.";
    char newer[NAME_SIZE];
    if (is_taken_away(name)) return false;
    if (strncmp(name, older, sizeof older - 1) == 0) {
        snprintf(newer, sizeof newer, "clocks_event_reasons.%s", name + sizeof older - 1);
        name = newer;
    }
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(aliases[i].alias, name) == 0) name = aliases[i].name;
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (strcmp(table[i].name, name) == 0) {
            *found = table[i];
            return true;
        }
    return find_ecc(name, found);
}
