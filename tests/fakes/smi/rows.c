/* The list of cards, as `nvidia-smi -L` prints it. */
#include "smi.h"

#include <string.h>

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
