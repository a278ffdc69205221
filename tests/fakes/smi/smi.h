/* A fake nvidia-smi: the same card descriptions as the fake library, said as XML. */
#ifndef FAKE_SMI_H
#define FAKE_SMI_H

#include <stdio.h>

#include "../scenario/scenario.h"

enum { NAME_SIZE = 128 };

/* How one property is worded. */
enum kind {
    TEXT,
    NUMBER,
    PERCENT,
    MEBIBYTES,
    WATTS,
    MEGAHERTZ,
    MICROSECONDS,
    ENABLED,
    YES_NO,
    ACTIVE,
    HEX16,
    HEX8,
    PSTATE,
    COMPUTE_MODE,
    RECOVERY,
    FABRIC,
    FABRIC_STATUS,
    FABRIC_SUMMARY,
    FABRIC_BANDWIDTH,
    FABRIC_FLAG,
    FABRIC_CONFIGURATION,
    LENGTH,
    PCI_DOMAIN,
    PCI_BUS,
    PCI_DEVICE,
    INDEX,
    COUNT,
    TIMESTAMP,
    FREE_MEMORY,
};

struct property {
    const char *name, *key;
    enum kind kind;
    unsigned bit;      /* of ACTIVE, FABRIC_FLAG and FABRIC_CONFIGURATION */
    const char *group; /* a second key whose faults hold for this one too */
};

/* Find a property under any of its names; false when this nvidia-smi has none. */
bool find_property(const char *name, struct property *found);

/* One value of a card with its unit. */
void print_value(FILE *out, struct subject card, const struct property *property);

/* What stands in an element that an NVML error code left without a value. */
const char *token_of(int code);

/* The error due under a key of this card, 0 when none is. */
int due_error(struct subject who, const char *key);

/* Say why nothing works, as nvidia-smi does; the exit status. */
int say_init_error(FILE *out, int code);
int say_no_devices(FILE *out);
int say_lost(FILE *out, struct subject card, int code);

/* The whole answer; the exit status. */
int list_gpus(FILE *out);
int query_xml(FILE *out, const char *chosen);

#endif
