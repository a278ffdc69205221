/* `nvidia-smi -q -x`: the same card descriptions as a document. */
#define _GNU_SOURCE
#include "smi.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* A group is opened by a line without a source and closed by one without a name. A source is a
   property of properties.c, or `@KEY` of the scenario as it stands there. */
static const struct line {
    const char *name, *source, *suffix;
} lines[] = {
    {"product_name", "name", ""},
    {"product_architecture", "@architecture", ""},
    {"persistence_mode", "persistence_mode", ""},
    {"mig_mode", NULL, NULL},
    {"current_mig", "mig.mode.current", ""},
    {"pending_mig", "mig.mode.pending", ""},
    {NULL, NULL, NULL},
    {"mig_devices", "@MIG", ""},
    {"serial", "serial", ""},
    {"uuid", "uuid", ""},
    {"minor_number", "@minor", ""},
    {"vbios_version", "vbios_version", ""},
    {"board_part_number", "@board_part_number", ""},
    {"platformInfo", NULL, NULL},
    {"chassis_serial_number", "@chassis_serial", ""},
    {"slot_number", "@chassis_slot", ""},
    {"tray_index", "@chassis_tray", ""},
    {NULL, NULL, NULL},
    {"gpu_recovery_action", "gpu_recovery_action", ""},
    {"gsp_firmware_version", "@gsp", ""},
    {"pci", NULL, NULL},
    {"pci_bus_id", "pci.bus_id", ""},
    {"pci_gpu_link_info", NULL, NULL},
    {"pcie_gen", NULL, NULL},
    {"max_link_gen", "pcie.link.gen.max", ""},
    {"current_link_gen", "pcie.link.gen.current", ""},
    {NULL, NULL, NULL},
    {"link_widths", NULL, NULL},
    {"max_link_width", "pcie.link.width.max", "x"},
    {"current_link_width", "pcie.link.width.current", "x"},
    {NULL, NULL, NULL},
    {NULL, NULL, NULL},
    {"replay_counter", "@pcie_replays", ""},
    {NULL, NULL, NULL},
    {"fan_speed", "fan.speed", ""},
    {"performance_state", "pstate", ""},
    {"clocks_event_reasons", NULL, NULL},
    {"clocks_event_reason_gpu_idle", "clocks_event_reasons.gpu_idle", ""},
    {"clocks_event_reason_applications_clocks_setting",
     "clocks_event_reasons.applications_clocks_setting", ""},
    {"clocks_event_reason_sw_power_cap", "clocks_event_reasons.sw_power_cap", ""},
    {"clocks_event_reason_hw_slowdown", "clocks_event_reasons.hw_slowdown", ""},
    {"clocks_event_reason_hw_thermal_slowdown", "clocks_event_reasons.hw_thermal_slowdown", ""},
    {"clocks_event_reason_hw_power_brake_slowdown",
     "clocks_event_reasons.hw_power_brake_slowdown", ""},
    {"clocks_event_reason_sync_boost", "clocks_event_reasons.sync_boost", ""},
    {"clocks_event_reason_sw_thermal_slowdown", "clocks_event_reasons.sw_thermal_slowdown", ""},
    {"clocks_event_reason_display_clocks_setting", "clocks_event_reasons.display_clock_setting",
     ""},
    {NULL, NULL, NULL},
    {"clocks_event_reasons_counters", NULL, NULL},
    {"clocks_event_reasons_counters_sw_power_cap", "clocks_event_reasons_counters.sw_power_cap",
     ""},
    {"clocks_event_reasons_counters_sync_boost", "clocks_event_reasons_counters.sync_boost", ""},
    {"clocks_event_reasons_counters_sw_therm_slowdown",
     "clocks_event_reasons_counters.sw_thermal_slowdown", ""},
    {"clocks_event_reasons_counters_hw_therm_slowdown",
     "clocks_event_reasons_counters.hw_thermal_slowdown", ""},
    {"clocks_event_reasons_counters_hw_power_brake",
     "clocks_event_reasons_counters.hw_power_brake_slowdown", ""},
    {NULL, NULL, NULL},
    {"fb_memory_usage", NULL, NULL},
    {"total", "memory.total", ""},
    {"reserved", "memory.reserved", ""},
    {"used", "memory.used", ""},
    {"free", "memory.free", ""},
    {NULL, NULL, NULL},
    {"bar1_memory_usage", NULL, NULL},
    {"total", "@bar1_total", "MiB"},
    {"used", "@bar1_used", "MiB"},
    {NULL, NULL, NULL},
    {"compute_mode", "compute_mode", ""},
    {"utilization", NULL, NULL},
    {"gpu_util", "utilization.gpu", ""},
    {"memory_util", "utilization.memory", ""},
    {"encoder_util", "utilization.encoder", ""},
    {"decoder_util", "utilization.decoder", ""},
    {"jpeg_util", "utilization.jpeg", ""},
    {"ofa_util", "utilization.ofa", ""},
    {NULL, NULL, NULL},
    {"ecc_mode", NULL, NULL},
    {"current_ecc", "ecc.mode.current", ""},
    {"pending_ecc", "ecc.mode.pending", ""},
    {NULL, NULL, NULL},
    {"ecc_errors", NULL, NULL},
    {"volatile", NULL, NULL},
    {"sram_correctable", "ecc.errors.corrected.volatile.sram", ""},
    {"sram_uncorrectable", "ecc.errors.uncorrected.volatile.sram", ""},
    {"sram_uncorrectable_parity", "ecc.errors.uncorrected.volatile.sram.parity", ""},
    {"sram_uncorrectable_secded", "ecc.errors.uncorrected.volatile.sram.secded", ""},
    {"dram_correctable", "ecc.errors.corrected.volatile.dram", ""},
    {"dram_uncorrectable", "ecc.errors.uncorrected.volatile.dram", ""},
    {NULL, NULL, NULL},
    {"aggregate", NULL, NULL},
    {"sram_correctable", "ecc.errors.corrected.aggregate.sram", ""},
    {"sram_uncorrectable", "ecc.errors.uncorrected.aggregate.sram", ""},
    {"sram_uncorrectable_parity", "ecc.errors.uncorrected.aggregate.sram.parity", ""},
    {"sram_uncorrectable_secded", "ecc.errors.uncorrected.aggregate.sram.secded", ""},
    {"dram_correctable", "ecc.errors.corrected.aggregate.dram", ""},
    {"dram_uncorrectable", "ecc.errors.uncorrected.aggregate.dram", ""},
    {"sram_threshold_exceeded", "ecc.errors.uncorrected.aggregate.sram.thresholdExceeded", ""},
    {NULL, NULL, NULL},
    {"aggregate_uncorrectable_sram_sources", NULL, NULL},
    {"sram_l2", "@sram.bucket.l2", ""},
    {"sram_sm", "@sram.bucket.sm", ""},
    {"sram_microcontroller", "@sram.bucket.mcu", ""},
    {"sram_pcie", "@sram.bucket.pcie", ""},
    {"sram_other", "@sram.bucket.other", ""},
    {NULL, NULL, NULL},
    {"channel_repair_pending", "@repair.channel_pending", "YesNo"},
    {"tpc_repair_pending", "@repair.tpc_pending", "YesNo"},
    {"unrepairable_memory", "@unrepairable_memory", "YesNo"},
    {NULL, NULL, NULL},
    {"retired_pages", NULL, NULL},
    {"multiple_single_bit_retirement", NULL, NULL},
    {"retired_count", "retired_pages.single_bit_ecc.count", ""},
    {NULL, NULL, NULL},
    {"double_bit_retirement", NULL, NULL},
    {"retired_count", "retired_pages.double_bit.count", ""},
    {NULL, NULL, NULL},
    {"pending_blacklist", "retired_pages.pending", ""},
    {"pending_retirement", "retired_pages.pending", ""},
    {NULL, NULL, NULL},
    {"remapped_rows", NULL, NULL},
    {"remapped_row_corr", "remapped_rows.correctable", ""},
    {"remapped_row_unc", "remapped_rows.uncorrectable", ""},
    {"remapped_row_pending", "remapped_rows.pending", ""},
    {"remapped_row_failure", "remapped_rows.failure", ""},
    {"row_remapper_histogram", NULL, NULL},
    {"row_remapper_histogram_max", "remapped_rows.histogram.max", " bank(s)"},
    {"row_remapper_histogram_high", "remapped_rows.histogram.high", " bank(s)"},
    {"row_remapper_histogram_partial", "remapped_rows.histogram.partial", " bank(s)"},
    {"row_remapper_histogram_low", "remapped_rows.histogram.low", " bank(s)"},
    {"row_remapper_histogram_none", "remapped_rows.histogram.none", " bank(s)"},
    {NULL, NULL, NULL},
    {NULL, NULL, NULL},
    {"temperature", NULL, NULL},
    {"gpu_temp", "temperature.gpu", " C"},
    {"gpu_temp_tlimit", "temperature.gpu.tlimit", " C"},
    {"gpu_temp_max_threshold", "@threshold.shutdown", " C"},
    {"gpu_temp_slow_threshold", "@threshold.slowdown", " C"},
    {"gpu_temp_max_gpu_threshold", "@threshold.max_operating", " C"},
    {"gpu_temp_max_mem_threshold", "@threshold.memory_max", " C"},
    {"gpu_target_temperature", "@threshold.target", " C"},
    {"gpu_temp_max_tlimit_threshold", "@threshold_margin.shutdown", " C"},
    {"gpu_temp_slow_tlimit_threshold", "@threshold_margin.slowdown", " C"},
    {"gpu_temp_max_gpu_tlimit_threshold", "@threshold_margin.max_operating", " C"},
    {"gpu_temp_max_mem_tlimit_threshold", "@threshold_margin.memory_max", " C"},
    {"memory_temp", "temperature.memory", " C"},
    {NULL, NULL, NULL},
    {"gpu_power_readings", NULL, NULL},
    {"power_draw", "power.draw", ""},
    {"average_power_draw", "power.draw.average", ""},
    {"instant_power_draw", "power.draw.instant", ""},
    {"current_power_limit", "enforced.power.limit", ""},
    {"requested_power_limit", "power.limit", ""},
    {"default_power_limit", "power.default_limit", ""},
    {"min_power_limit", "power.min_limit", ""},
    {"max_power_limit", "power.max_limit", ""},
    {NULL, NULL, NULL},
    {"clocks", NULL, NULL},
    {"graphics_clock", "clocks.current.graphics", ""},
    {"sm_clock", "clocks.current.sm", ""},
    {"mem_clock", "clocks.current.memory", ""},
    {"video_clock", "clocks.current.video", ""},
    {NULL, NULL, NULL},
    {"max_clocks", NULL, NULL},
    {"graphics_clock", "clocks.max.graphics", ""},
    {"sm_clock", "clocks.max.sm", ""},
    {"mem_clock", "clocks.max.memory", ""},
    {"video_clock", "@max_clock.video", " MHz"},
    {NULL, NULL, NULL},
    {"fabric", NULL, NULL},
    {"state", "fabric.state", ""},
    {"status", "fabric.status", ""},
    {"cliqueId", "@fabric_clique", ""},
    {"clusterUuid", "@cluster", ""},
    {"health", NULL, NULL},
    {"summary", "fabric.health.summary", ""},
    {"bandwidth", "fabric.health.bandwidth", ""},
    {"route_recovery_in_progress", "fabric.health.route_recovery_in_progress", ""},
    {"route_unhealthy", "fabric.health.route_unhealthy", ""},
    {"access_timeout_recovery", "fabric.health.access_timeout_recovery", ""},
    {"incorrect_configuration", "fabric.health.incorrect_configuration", ""},
    {NULL, NULL, NULL},
    {NULL, NULL, NULL},
    {"supported_clocks", NULL, NULL},
    {"supported_mem_clock", NULL, NULL},
    {"value", "clocks.max.memory", ""},
    {"supported_graphics_clock", "clocks.max.graphics", ""},
    {NULL, NULL, NULL},
    {NULL, NULL, NULL},
    {"processes", "@PROCESSES", ""},
};

static void indent(FILE *out, int depth) {
    while (depth-- > 0) fputc('\t', out);
}

static void escape(FILE *out, const char *text, size_t length) {
    for (size_t i = 0; i < length; i++) {
        if (text[i] == '&') fputs("&amp;", out);
        else if (text[i] == '<') fputs("&lt;", out);
        else if (text[i] == '>') fputs("&gt;", out);
        else fputc(text[i], out);
    }
}

/* The cell as in a query, without the brackets of what is absent, with the suffix of a number. */
static void print_cell(FILE *out, const char *text, size_t length, const char *suffix) {
    if (length > 1 && text[0] == '[' && text[length - 1] == ']') text++, length -= 2;
    escape(out, text, length);
    if (length && (isdigit((unsigned char)text[0]) || text[0] == '-')) fputs(suffix, out);
}

static void print_property(FILE *out, struct subject card, struct property property,
                           const char *suffix) {
    char *text = NULL;
    size_t length = 0;
    FILE *cell = open_memstream(&text, &length);
    print_value(cell, card, &property);
    fclose(cell);
    print_cell(out, text, length, suffix);
    free(text);
}

static void print_architecture(FILE *out, struct subject card) {
    static const char *const names[] = {"Kepler", "Maxwell", "Pascal",       "Volta",  "Turing",
                                        "Ampere", "Ada Lovelace", "Hopper", "Blackwell"};
    unsigned long long number;
    bool known = scenario_number(card, "architecture", &number) && number - 2 < 9;
    fputs(known ? names[number - 2] : "N/A", out);
}

static void print_gsp(FILE *out, struct subject card) {
    char version[80] = "N/A";
    unsigned long long on = 0;
    struct property gsp;
    if (!find_property("gsp.mode.current", &gsp)) on = 0;
    else scenario_number(card, "gsp_mode", &on);
    if (on && scenario_text(card, "gsp_version", version, sizeof version) < 0)
        scenario_text(NOBODY, "driver_version", version, sizeof version);
    fputs(version, out);
}

static void print_cluster(FILE *out, struct subject card) {
    char digits[40];
    if (scenario_text(card, "fabric_cluster", digits, sizeof digits) < 32) fputs("N/A", out);
    else fprintf(out, "%.8s-%.4s-%.4s-%.4s-%.12s", digits, digits + 8, digits + 12, digits + 16,
                 digits + 20);
}

/* A key of the scenario itself: most of what the document holds and no query asks for. */
static void print_key(FILE *out, struct subject card, const char *key, const char *suffix) {
    struct property property = {key, key, TEXT, 0, NULL};
    if (strcmp(key, "architecture") == 0) return print_architecture(out, card);
    if (strcmp(key, "gsp") == 0) return print_gsp(out, card);
    if (strcmp(key, "cluster") == 0) return print_cluster(out, card);
    if (strcmp(suffix, "MiB") == 0) property.kind = MEBIBYTES, suffix = "";
    if (strcmp(suffix, "YesNo") == 0) property.kind = YES_NO, suffix = "";
    if (strcmp(suffix, "Enabled") == 0) property.kind = ENABLED, suffix = "";
    if (strcmp(key, "pcie_replays") == 0) property.kind = NUMBER;
    print_property(out, card, property, suffix);
}

static void print_leaf(FILE *out, int depth, const char *name, const char *text) {
    indent(out, depth);
    fprintf(out, "<%s>", name);
    escape(out, text, strlen(text));
    fprintf(out, "</%s>\n", name);
}

static void print_migs(FILE *out, struct subject card, int depth) {
    unsigned long long on, number, total, used = 0;
    char text[256];
    bool any = false;
    if (!scenario_number(card, "mig_mode", &on)) on = 0;
    for (int mig = 0; on && mig < MAX_MIG; mig++) {
        struct subject slice = {card.device, mig};
        char total_text[32] = "N/A", used_text[32] = "N/A";
        if (scenario_text(slice, "gpu_instance", text, sizeof text) < 0) continue;
        any = true;
        indent(out, depth), fputs("<mig_device>\n", out);
        print_leaf(out, depth + 1, "gpu_instance_id", text);
        if (scenario_text(slice, "compute_instance", text, sizeof text) < 0) strcpy(text, "0");
        print_leaf(out, depth + 1, "compute_instance_id", text);
        snprintf(text, sizeof text, "%d", mig);
        print_leaf(out, depth + 1, "index", text);
        number = scenario_number(slice, "memory_total", &total);
        if (number) snprintf(total_text, sizeof total_text, "%llu MiB", total >> 20);
        number = scenario_number(slice, "memory_used", &used);
        if (number) snprintf(used_text, sizeof used_text, "%llu MiB", used >> 20);
        indent(out, depth + 1), fputs("<fb_memory_usage>\n", out);
        print_leaf(out, depth + 2, "total", total_text);
        print_leaf(out, depth + 2, "used", used_text);
        indent(out, depth + 1), fputs("</fb_memory_usage>\n", out);
        indent(out, depth), fputs("</mig_device>\n", out);
    }
    if (!any) indent(out, depth), fputs("None\n", out);
}

/* One list of processes, those that an earlier list named left out; `others` adds their letter. */
static void print_list(FILE *out, struct subject card, int depth, const char *key,
                       const char *letter, const char *earlier) {
    static char list[VALUE_SIZE];
    char *rest = list;
    if (scenario_text(card, key, list, sizeof list) < 0) return;
    for (char *item; (item = strsep(&rest, " "));) {
        char memory[32] = "na", gpu[16] = "N/A", compute[16] = "N/A", pid[16], name[64], text[1024];
        unsigned number = 0;
        if (sscanf(item, "%u:%31[^: ]:%15[^: ]:%15[^: ]", &number, memory, gpu, compute) < 1)
            continue;
        snprintf(pid, sizeof pid, "%u", number);
        snprintf(text, sizeof text, " %s:", pid);
        if (strstr(earlier, text)) continue;
        snprintf(name, sizeof name, "process.%u.name", number);
        indent(out, depth), fputs("<process_info>\n", out);
        print_leaf(out, depth + 1, "gpu_instance_id", gpu);
        print_leaf(out, depth + 1, "compute_instance_id", compute);
        print_leaf(out, depth + 1, "pid", pid);
        print_leaf(out, depth + 1, "type", letter);
        if (scenario_text(NOBODY, name, text, sizeof text) < 0) strcpy(text, "[Not Found]");
        print_leaf(out, depth + 1, "process_name", text);
        snprintf(text, sizeof text, "%llu MiB", strtoull(memory, NULL, 0) >> 20);
        print_leaf(out, depth + 1, "used_memory", strcmp(memory, "na") ? text : "N/A");
        indent(out, depth), fputs("</process_info>\n", out);
    }
}

static void print_processes(FILE *out, struct subject card, int depth) {
    static char mps[VALUE_SIZE + 1], both[2 * VALUE_SIZE + 3], compute[VALUE_SIZE + 1];
    int code = due_error(card, "compute_processes");
    bool known = scenario_text(card, "compute_processes", compute, VALUE_SIZE) >= 0;
    if (code || !known) {
        const char *token = token_of(code ? code : 3);
        indent(out, depth), print_cell(out, token, strlen(token), ""), fputc('\n', out);
        return;
    }
    if (scenario_text(card, "mps_processes", mps, VALUE_SIZE) < 0) *mps = 0;
    print_list(out, card, depth, "mps_processes", "M+C", "");
    snprintf(both, sizeof both, " %s", mps);
    print_list(out, card, depth, "compute_processes", "C", both);
    snprintf(both, sizeof both, " %s %s", mps, compute);
    print_list(out, card, depth, "graphics_processes", "G", both);
}

/* Older documents have one count of uncorrectable SRAM errors, newer ones two. */
static bool is_printed(struct subject card, const char *name) {
    char text[64];
    if (strncmp(name, "sram_uncorrectable", 18)) return true;
    bool two = scenario_text(card, "sram.uncorrected_parity.volatile", text, sizeof text) >= 0;
    return two == (name[18] != 0);
}

static void print_line(FILE *out, struct subject card, const struct line *line, int depth) {
    bool long_list = line->source[0] == '@' && isupper((unsigned char)line->source[1]);
    struct property property;
    if (line->source[0] != '@' && !find_property(line->source, &property)) return;
    if (!is_printed(card, line->name)) return;
    indent(out, depth);
    fprintf(out, "<%s>", line->name);
    if (long_list) {
        fputc('\n', out);
        (line->source[1] == 'M' ? print_migs : print_processes)(out, card, depth + 1);
        indent(out, depth);
    } else if (line->source[0] == '@') print_key(out, card, line->source + 1, line->suffix);
    else print_property(out, card, property, line->suffix);
    fprintf(out, "</%s>\n", line->name);
}

static void print_gpu(FILE *out, struct subject card) {
    const char *open[8];
    char bus_id[64] = "00000000:00:00.0";
    int depth = 2;
    scenario_text(card, "bus_id", bus_id, sizeof bus_id);
    fprintf(out, "\t<gpu id=\"%s\">\n", bus_id);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct line *line = &lines[i];
        if (line->source) {
            print_line(out, card, line, depth);
        } else if (line->name) {
            open[depth - 2] = line->name;
            indent(out, depth++), fprintf(out, "<%s>\n", line->name);
        } else {
            indent(out, --depth), fprintf(out, "</%s>\n", open[depth - 2]);
        }
    }
    fputs("\t</gpu>\n\n", out);
}

/* Chosen by index, UUID or bus address: `-i 0,GPU-…,0000:18:00.0`. */
static bool is_chosen(struct subject card, unsigned index, const char *chosen) {
    char uuid[256] = "", bus_id[64] = "", number[16], *copy, *rest;
    bool found = !chosen;
    if (!chosen) return true;
    scenario_text(card, "uuid", uuid, sizeof uuid);
    scenario_text(card, "bus_id", bus_id, sizeof bus_id);
    snprintf(number, sizeof number, "%u", index);
    rest = copy = strdup(chosen);
    for (char *item; (item = strsep(&rest, ","));) {
        size_t own = strlen(bus_id), asked = strlen(item);
        found |= strcmp(item, number) == 0 || strcasecmp(item, uuid) == 0;
        found |= asked >= 7 && own >= asked && strcasecmp(item, bus_id + own - asked) == 0;
    }
    free(copy);
    return found;
}

int query_xml(FILE *out, const char *chosen) {
    char text[80];
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        int lost = is_chosen(card, index, chosen) ? due_error(card, "handle") : 0;
        if (!lost && is_chosen(card, index, chosen)) lost = due_error(card, "any");
        if (lost) return say_lost(out, card, lost); /* and nothing of the others */
    }
    fputs("<?xml version=\"1.0\" ?>\n<!DOCTYPE nvidia_smi_log SYSTEM \"nvsmi_device_v12.dtd\">\n"
          "<nvidia_smi_log>\n",
          out);
    if (scenario_text(NOBODY, "driver_version", text, sizeof text) >= 0)
        print_leaf(out, 1, "driver_version", text);
    unsigned long long cuda;
    if (scenario_number(NOBODY, "cuda_version", &cuda)) {
        snprintf(text, sizeof text, "%llu.%llu", cuda / 1000, cuda % 1000 / 10);
        print_leaf(out, 1, "cuda_version", text);
    }
    fprintf(out, "\t<attached_gpus>%u</attached_gpus>\n", known_count(false));
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        if (is_chosen(card, index, chosen)) print_gpu(out, card);
    }
    fputs("</nvidia_smi_log>\n", out);
    return 0;
}
