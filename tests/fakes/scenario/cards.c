/* How many cards there are, and in which order they answer. */
#include "scenario.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_int count_now = -1;

unsigned known_count(bool count_anew) {
    unsigned long long number = 0;
    if (count_anew || atomic_load(&count_now) < 0) {
        if (!scenario_number(NOBODY, "count", &number)) number = 0;
        atomic_store(&count_now, number > MAX_DEVICES ? MAX_DEVICES : (int)number);
    }
    return (unsigned)atomic_load(&count_now);
}

/* `order = 1,0` says which card answers at index 0, 1 …; without it the cards are in order. */
int card_at(unsigned index) {
    char order[512];
    if (scenario_text(NOBODY, "order", order, sizeof order) < 0) return (int)index;
    const char *at = order;
    for (unsigned i = 0; i < index && at; i++) {
        at = strchr(at, ',');
        if (at) at++;
    }
    return at ? atoi(at) : (int)index;
}

int index_of(int card) {
    for (unsigned index = 0; index < MAX_DEVICES; index++)
        if (card_at(index) == card) return (int)index;
    return -1;
}
