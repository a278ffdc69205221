/* Field values: `field.82 = 41` says any of them by number, the table the ones with a name. */
#include "nvlink.h"

#include <stdlib.h>
#include <string.h>

enum value_type { UINT = 1, ULL = 3, SIGNED = 5 };

struct field_value {
    unsigned id, scope;
    long long timestamp, latency;
    unsigned type, result;
    union {
        double real;
        unsigned number;
        int integer;
        u64 large;
    } value;
};

static const struct {
    unsigned id;
    enum value_type type;
    const char *key;
} named[] = {
    {1, UINT, "ecc_mode"},
    {2, UINT, "ecc_mode_pending"},
    {3, ULL, "ecc.corrected.volatile"},
    {4, ULL, "ecc.uncorrected.volatile"},
    {5, ULL, "ecc.corrected.aggregate"},
    {6, ULL, "ecc.uncorrected.aggregate"},
    {31, UINT, "retired_pages_pending"},
    {74, ULL, "violation.power"},
    {75, ULL, "violation.thermal"},
    {76, ULL, "violation.sync_boost"},
    {77, ULL, "violation.board_limit"},
    {78, ULL, "violation.low_utilization"},
    {79, ULL, "violation.reliability"},
    {80, ULL, "violation.app_clocks"},
    {81, ULL, "violation.base_clocks"},
    {82, UINT, "memory_temperature"},
    {83, ULL, "energy"},
    {91, UINT, "nvlink_links"},
    {94, UINT, "pcie_replays"},
    {95, UINT, "pcie_replay_rollovers"},
    {142, UINT, "remapped_rows.corrected"},
    {143, UINT, "remapped_rows.uncorrected"},
    {144, UINT, "remapped_rows.pending"},
    {145, UINT, "remapped_rows.failed"},
    {147, UINT, "nvswitch_links"},
    {169, UINT, "pcie_recoveries"},
    {173, UINT, "pcie_errors.correctable"},
    {174, UINT, "pcie_errors.naks_received"},
    {175, UINT, "pcie_errors.receiver"},
    {176, UINT, "pcie_errors.bad_tlp"},
    {177, UINT, "pcie_errors.naks_sent"},
    {178, UINT, "pcie_errors.bad_dllp"},
    {179, UINT, "pcie_errors.non_fatal"},
    {180, UINT, "pcie_errors.fatal"},
    {181, UINT, "pcie_errors.unsupported_request"},
    {182, UINT, "pcie_errors.lcrc"},
    {183, UINT, "pcie_errors.lane"},
    {185, UINT, "power_average"},
    {186, UINT, "power_instant"},
    {187, UINT, "power_limit_min"},
    {188, UINT, "power_limit_max"},
    {189, UINT, "power_limit_default"},
    {190, UINT, "power_limit_enforced"},
    {191, ULL, "energy"},
    {192, UINT, "power_limit"},
    {193, SIGNED, "threshold_margin.shutdown"},
    {194, SIGNED, "threshold_margin.slowdown"},
    {195, SIGNED, "threshold_margin.memory_max"},
    {196, SIGNED, "threshold_margin.max_operating"},
    {197, ULL, "pcie_bytes.tx"},
    {198, ULL, "pcie_bytes.rx"},
    {230, UINT, "recovery_action"},
    {269, ULL, "violation.sw_thermal"},
    {270, ULL, "violation.hw_thermal"},
    {271, ULL, "violation.hw_power_brake"},
};

/* One id per link, `first` for the link `link`, or one id whose scope is the link (count 0). */
static const struct {
    unsigned first, count;
    long link;
    const char *name;
} per_link[] = {
    {32, 6, 0, "crc_flit"},     {96, 6, 6, "crc_flit"},   {38, 1, ALL_LINKS, "crc_flit"},
    {39, 6, 0, "crc_data"},     {102, 6, 6, "crc_data"},  {45, 1, ALL_LINKS, "crc_data"},
    {46, 6, 0, "replay"},       {108, 6, 6, "replay"},    {52, 1, ALL_LINKS, "replay"},
    {53, 6, 0, "recovery"},     {114, 6, 6, "recovery"},  {59, 1, ALL_LINKS, "recovery"},
    {84, 6, 0, "speed"},        {132, 6, 6, "speed"},     {90, 1, 0, "speed"},
    {148, 12, 0, "ecc_data"},   {160, 1, ALL_LINKS, "ecc_data"},
    {138, 0, 0, "tx_data_kib"}, {139, 0, 0, "rx_data_kib"}, {140, 0, 0, "tx_raw_kib"},
    {141, 0, 0, "rx_raw_kib"},  {146, 0, 0, "remote_link"}, {161, 0, 0, "replay"},
    {162, 0, 0, "recovery"},    {163, 0, 0, "crc_flit"},  {164, 0, 0, "speed"},
    {165, 0, 0, "state"},       {166, 0, 0, "version"},   {167, 0, 0, "power_state"},
    {201, 0, 0, "tx_packets"},  {202, 0, 0, "tx_bytes"},  {203, 0, 0, "rx_packets"},
    {204, 0, 0, "rx_bytes"},    {206, 0, 0, "malformed_packets"},
    {207, 0, 0, "buffer_overruns"}, {208, 0, 0, "rx_errors"},
    {209, 0, 0, "rx_remote_errors"}, {210, 0, 0, "rx_general_errors"},
    {211, 0, 0, "link_integrity_errors"}, {212, 0, 0, "tx_discards"},
    {213, 0, 0, "recoveries_successful"}, {214, 0, 0, "recoveries_failed"},
    {215, 0, 0, "recovery_events"}, {219, 0, 0, "effective_errors"},
    {220, 0, 0, "effective_ber"}, {221, 0, 0, "symbol_errors"}, {222, 0, 0, "symbol_ber"},
};

static int link_field(struct subject who, struct field_value *field, u64 *number) {
    char key[KEY_SIZE];
    for (size_t i = 0; i < sizeof per_link / sizeof *per_link; i++) {
        unsigned count = per_link[i].count ? per_link[i].count : 1;
        if (field->id < per_link[i].first || field->id >= per_link[i].first + count) continue;
        long link = per_link[i].link;
        if (link != ALL_LINKS) link += (long)(field->id - per_link[i].first);
        if (!per_link[i].count) link = field->scope == ~0u ? ALL_LINKS : (long)field->scope;
        int result = run_due(who, key_of(key, "nvlink.%s", per_link[i].name));
        field->type = ULL;
        return result ? result : get_link(who, link, per_link[i].name, number);
    }
    return NOT_SUPPORTED;
}

static int named_field(struct subject who, struct field_value *field, u64 *number) {
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        if (named[i].id != field->id) continue;
        int result = run_due(who, named[i].key);
        field->type = named[i].type;
        return result ? result : get_u64(who, named[i].key, number);
    }
    return link_field(who, field, number);
}

/* Pages retired for one cause are said as a list; the field is its length. */
static int retired_field(struct subject who, struct field_value *field, u64 *number) {
    char text[VALUE_SIZE], *rest = text;
    if (field->id != 29 && field->id != 30) return NOT_SUPPORTED;
    const char *key = field->id == 29 ? "retired_pages.single_bit" : "retired_pages.double_bit";
    if (scenario_text(who, key, text, sizeof text) < 0) return NOT_SUPPORTED;
    field->type = UINT;
    *number = 0;
    for (char *item; (item = strsep(&rest, " "));) *number += *item != 0;
    return OK;
}

static void fill(struct subject who, struct field_value *field) {
    char key[KEY_SIZE];
    u64 number = 0;
    key_of(key, "field.%u", field->id);
    field->timestamp = (long long)now_microseconds();
    field->latency = 0;
    field->type = ULL;
    int result = run_due(who, key);
    if (!result && get_u64(who, key, &number) && retired_field(who, field, &number))
        result = named_field(who, field, &number);
    field->result = (unsigned)result;
    field->value.large = 0;
    if (field->type == ULL) field->value.large = number;
    else field->value.number = (unsigned)number;
}

API int nvmlDeviceGetFieldValues(nvmlDevice_t device, int count, struct field_value *fields) {
    int result = begin_device("nvmlDeviceGetFieldValues", device, "field_values");
    for (int i = 0; i < count && !result; i++) fill(*device, &fields[i]);
    return result;
}
