/* How nvidia-smi words one value. */
#define _GNU_SOURCE
#include "smi.h"

#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <time.h>

typedef unsigned long long u64;

static const char *unit_of(enum kind kind) {
    switch (kind) {
    case PERCENT: return "%";
    case MEBIBYTES:
    case FREE_MEMORY: return "MiB";
    case WATTS: return "W";
    case MEGAHERTZ: return "MHz";
    case MICROSECONDS: return "us";
    default: return NULL;
    }
}

const char *token_of(int code) {
    switch (code) {
    case 4: return "[Insufficient Permissions]";
    case 15: return "[GPU is lost]";
    case 16: return "[GPU requires reset]";
    case 3: break;
    default: return "[Unknown Error]";
    }
    static char absent[NAME_SIZE];
    if (scenario_text(NOBODY, "smi.absent", absent, sizeof absent) < 0) return "[N/A]";
    return absent;
}

int due_error(struct subject who, const char *key) {
    struct action due;
    if (!scenario_action(who, key, &due)) return 0;
    int code = action_run(&due);
    free(due.text);
    return code;
}

static const char *word(const char *const *words, unsigned count, u64 value) {
    return value < count ? words[value] : "[Unknown Error]";
}

static void print_number(FILE *out, enum kind kind, unsigned bit, u64 number) {
    static const char *const modes[] = {"Default", "Exclusive_Thread", "Prohibited",
                                        "Exclusive_Process"};
    static const char *const actions[] = {"None", "Reset", "Reboot", "Drain P2P",
                                          "Drain and Reset", "Recover IMEX", "Bus Reset"};
    static const char *const states[] = {"N/A", "Not Started", "In Progress", "Completed"};
    static const char *const summaries[] = {"N/A", "Healthy", "Unhealthy", "Limited Capacity"};
    static const char *const bandwidths[] = {"N/A", "Degraded", "Full"};
    static const char *const flags[] = {"N/A", "True", "False"};
    static const char *const configurations[] = {
        "N/A", "None", "Incorrect SystemGuid", "Incorrect Chassis Serial Number", "No Partition",
        "Insufficient Nvlink Resources", "Incompatible GPU Firmware", "Invalid Location",
        "GPU State Invalid",
    };
    switch (kind) {
    case MEBIBYTES:
    case FREE_MEMORY: fprintf(out, "%llu", (number + (1 << 19)) >> 20); break;
    case WATTS: fprintf(out, "%llu.%02llu", number / 1000, number % 1000 / 10); break;
    case MICROSECONDS: fprintf(out, "%llu", number / 1000); break;
    case ENABLED: fputs(number ? "Enabled" : "Disabled", out); break;
    case YES_NO: fputs(number ? "Yes" : "No", out); break;
    case ACTIVE: fputs(number >> bit & 1 ? "Active" : "Not Active", out); break;
    case HEX16: fprintf(out, "0x%016llX", number); break;
    case HEX8: fprintf(out, "0x%08llX", number); break;
    case PSTATE: fprintf(out, "P%llu", number); break;
    case COMPUTE_MODE: fputs(word(modes, 4, number), out); break;
    case RECOVERY: fputs(word(actions, 7, number), out); break;
    case FABRIC: fputs(word(states, 4, number), out); break;
    case FABRIC_STATUS: fputs(number ? "Unknown Error" : "Success", out); break;
    case FABRIC_SUMMARY: fputs(word(summaries, 4, number), out); break;
    case FABRIC_BANDWIDTH: fputs(word(bandwidths, 3, number & 3), out); break;
    case FABRIC_FLAG: fputs(word(flags, 3, number >> bit & 3), out); break;
    case FABRIC_CONFIGURATION: fputs(word(configurations, 9, number >> bit & 15), out); break;
    default: fprintf(out, "%lld", (long long)number); break;
    }
}

static bool find_number(struct subject card, const struct property *property, u64 *number) {
    u64 total, used, reserved = 0;
    if (property->kind == INDEX && !scenario_number(card, "index", number))
        *number = (u64)index_of(card.device);
    if (property->kind == COUNT) *number = known_count(false);
    if (property->kind == INDEX || property->kind == COUNT) return true;
    if (scenario_number(card, property->key, number)) return true;
    if (property->kind != FREE_MEMORY) return false;
    if (!scenario_number(card, "memory_total", &total)) return false;
    if (!scenario_number(card, "memory_used", &used)) return false;
    scenario_number(card, "memory_reserved", &reserved);
    *number = total - used - reserved;
    return true;
}

static void print_timestamp(FILE *out) {
    struct timeval now;
    char text[40];
    gettimeofday(&now, NULL);
    strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", localtime(&now.tv_sec));
    fprintf(out, "%s.%03ld", text, (long)now.tv_usec / 1000);
}

static void print_length(FILE *out, const char *list) {
    unsigned count = 0;
    for (const char *at = list; *(at += strspn(at, " ")); at += strcspn(at, " ")) count++;
    fprintf(out, "%u", count);
}

/* The kinds whose value is a text in the scenario; false for those that are numbers. */
static bool print_text(FILE *out, enum kind kind, const char *text, size_t length) {
    unsigned domain = 0, bus = 0, device = 0;
    sscanf(text, "%x:%x:%x", &domain, &bus, &device);
    switch (kind) {
    case TEXT: fwrite(text, 1, length, out); return true;
    case LENGTH: print_length(out, text); return true;
    case PCI_DOMAIN: fprintf(out, "0x%04X", domain); return true;
    case PCI_BUS: fprintf(out, "0x%02X", bus); return true;
    case PCI_DEVICE: fprintf(out, "0x%02X", device); return true;
    default: return false;
    }
}

/* `smi.power.draw = 1,5 W` puts any bytes into an element, whatever the card says. */
static bool print_override(FILE *out, struct subject card, const char *name) {
    char key[NAME_SIZE + 8], text[VALUE_SIZE];
    snprintf(key, sizeof key, "smi.%s", name);
    long length = scenario_text(card, key, text, sizeof text);
    if (length >= 0) fwrite(text, 1, (size_t)length, out);
    return length >= 0;
}

void print_value(FILE *out, struct subject card, const struct property *property) {
    char text[VALUE_SIZE];
    u64 number;
    if (print_override(out, card, property->name)) return;
    if (property->kind == TIMESTAMP) {
        print_timestamp(out);
        return;
    }
    int code = due_error(card, property->key);
    if (!code && property->group) code = due_error(card, property->group);
    long length = scenario_text(card, property->key, text, sizeof text);
    if (code || (length < 0 && property->kind < INDEX)) {
        fputs(token_of(code ? code : 3), out);
    } else if (length < 0 || !print_text(out, property->kind, text, (size_t)length)) {
        if (!find_number(card, property, &number)) {
            fputs(token_of(3), out);
            return;
        }
        print_number(out, property->kind, property->bit, number);
        if (unit_of(property->kind)) fprintf(out, " %s", unit_of(property->kind));
    }
}
