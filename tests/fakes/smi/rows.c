/* The rows of a query: cards, and processes on them. */
#define _GNU_SOURCE
#include "smi.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_FIELDS = 512 };

static int split(char *list, char **fields) {
    int count = 0;
    for (char *item; (item = strsep(&list, ",")) && count < MAX_FIELDS;) {
        item += strspn(item, " ");
        item[strcspn(item, " ")] = 0;
        fields[count++] = item;
    }
    return count;
}

static void end_row(FILE *out) {
    char crlf[8];
    fputs(scenario_text(NOBODY, "smi.crlf", crlf, sizeof crlf) > 0 ? "\r\n" : "\n", out);
}

static void print_header(FILE *out, char **fields, const struct property *properties, int count,
                         bool units) {
    for (int i = 0; i < count; i++) {
        const char *unit = unit_of(properties[i].kind);
        fprintf(out, "%s%s", i ? ", " : "", fields[i]);
        if (unit && units) fprintf(out, " [%s]", unit);
    }
    end_row(out);
}

static int lost_code(struct subject card) {
    int code = due_error(card, "handle");
    return code ? code : due_error(card, "any");
}

int query_gpu(FILE *out, const struct query *query) {
    static struct property properties[MAX_FIELDS];
    char *fields[MAX_FIELDS];
    int count = split(query->fields, fields);
    for (int i = 0; i < count; i++) {
        if (!find_property(fields[i], &properties[i])) return say_unknown_field(out, fields[i]);
        properties[i].key = strdup(properties[i].key);
    }
    if (query->header) print_header(out, fields, properties, count, query->units);
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        int lost = lost_code(card);
        if (lost) return say_lost(out, card, lost);
        for (int i = 0; i < count; i++) {
            if (i) fputs(", ", out);
            print_value(out, card, &properties[i], query->units);
        }
        end_row(out);
    }
    return 0;
}

static const struct property process_properties[] = {
    {"timestamp", "", TIMESTAMP, 0, NULL},
    {"gpu_name", "name", TEXT, 0, NULL},
    {"gpu_bus_id", "bus_id", TEXT, 0, NULL},
    {"gpu_serial", "serial", TEXT, 0, NULL},
    {"gpu_uuid", "uuid", TEXT, 0, NULL},
    {"pid", "pid", NUMBER, 0, NULL},
    {"process_name", "process_name", NUMBER, 0, NULL},
    {"name", "process_name", NUMBER, 0, NULL},
    {"used_gpu_memory", "used_gpu_memory", MEBIBYTES, 0, NULL},
    {"used_memory", "used_gpu_memory", MEBIBYTES, 0, NULL},
};

static bool find_process_property(const char *name, struct property *found) {
    for (size_t i = 0; i < sizeof process_properties / sizeof *process_properties; i++)
        if (strcmp(process_properties[i].name, name) == 0) {
            *found = process_properties[i];
            return true;
        }
    return false;
}

/* Cells of the process itself; `item` is PID:BYTES as in the scenario, NULL: not permitted. */
static bool print_process_cell(FILE *out, const char *key, const char *item, bool units) {
    char memory[32] = "na", name[1024], name_key[64];
    unsigned pid = 0;
    if (strcmp(key, "pid") && strcmp(key, "process_name") && strcmp(key, "used_gpu_memory"))
        return false;
    if (!item) {
        fputs(token_of(4), out);
        return true;
    }
    sscanf(item, "%u:%31[^: ]", &pid, memory);
    snprintf(name_key, sizeof name_key, "process.%u.name", pid);
    if (strcmp(key, "pid") == 0) fprintf(out, "%u", pid);
    else if (strcmp(key, "process_name") == 0)
        fputs(scenario_text(NOBODY, name_key, name, sizeof name) < 0 ? "[Not Found]" : name, out);
    else if (strcmp(memory, "na") == 0) fputs(token_of(3), out);
    else fprintf(out, "%llu%s", strtoull(memory, NULL, 0) >> 20, units ? " MiB" : "");
    return true;
}

static void print_process(FILE *out, struct subject card, const struct property *properties,
                          int count, const char *item, bool units) {
    for (int i = 0; i < count; i++) {
        if (i) fputs(", ", out);
        if (!print_process_cell(out, properties[i].key, item, units))
            print_value(out, card, &properties[i], units);
    }
    end_row(out);
}

int query_compute_apps(FILE *out, const struct query *query) {
    static struct property properties[MAX_FIELDS];
    static char list[1 << 20];
    char *fields[MAX_FIELDS];
    int count = split(query->fields, fields);
    for (int i = 0; i < count; i++)
        if (!find_process_property(fields[i], &properties[i]))
            return say_unknown_field(out, fields[i]);
    if (query->header) print_header(out, fields, properties, count, query->units);
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        int lost = lost_code(card);
        if (lost) return say_lost(out, card, lost);
        int code = due_error(card, "compute_processes");
        if (code == 4) print_process(out, card, properties, count, NULL, query->units);
        if (code || scenario_text(card, "compute_processes", list, sizeof list) < 0) continue;
        char *rest = list;
        for (char *item; (item = strsep(&rest, " "));)
            if (*item) print_process(out, card, properties, count, item, query->units);
    }
    return 0;
}

int list_gpus(FILE *out) {
    char name[VALUE_SIZE], uuid[256];
    for (unsigned index = 0; index < known_count(false); index++) {
        struct subject card = {card_at(index), -1};
        if (scenario_text(card, "name", name, sizeof name) < 0) strcpy(name, "Unknown Error");
        if (scenario_text(card, "uuid", uuid, sizeof uuid) < 0) strcpy(uuid, "N/A");
        fprintf(out, "GPU %u: %s (UUID: %s)\n", index, name, uuid);
        for (int mig = 0; mig < MAX_MIG; mig++) {
            struct subject slice = {card.device, mig};
            if (scenario_text(slice, "uuid", uuid, sizeof uuid) < 0) continue;
            if (scenario_text(slice, "profile", name, sizeof name) < 0) strcpy(name, "1g");
            fprintf(out, "  MIG %s     Device  %d: (UUID: %s)\n", name, mig, uuid);
        }
    }
    return 0;
}
