/* The scenario file: what the cards say and how they misbehave; see tests/fakes/README.md. */
#ifndef FAKE_SCENARIO_H
#define FAKE_SCENARIO_H

#include <stdbool.h>
#include <stddef.h>

enum action_kind {
    ACT_NONE,
    ACT_ERROR,
    ACT_SLEEP,
    ACT_HANG,
    ACT_SEGV,
    ACT_ABORT,
    ACT_EXIT,
    ACT_HOLD,
    ACT_LEAK,
    ACT_PRINT,
    ACT_WARN,
    ACT_CLOSE,
    ACT_PRINT_FILE,
    ACT_FLOOD,
    ACT_FLOOD_LINE,
    ACT_CHILD,
    ACT_DETACHED,
    ACT_IGNORE,
};

enum action_when { WHEN_ALWAYS, WHEN_AFTER, WHEN_TIMES, WHEN_AT, WHEN_EVERY };

struct action {
    enum action_kind kind;
    enum action_when when;
    long count; /* the N of `after N`, `times N`, `at N`, `every N` */
    long seen;  /* calls that consulted this action since the file was read */
    double number;
    char *text;
};

/* What a key is looked up for: one card, one MIG device of it, or neither (-1). */
struct subject {
    int device;
    int mig;
};

#define NOBODY ((struct subject){-1, -1})

enum { VALUE_SIZE = 65536, MAX_DEVICES = 64, MAX_MIG = 16 };

/* Read the file again when it has changed; false when there is none. Takes and frees the lock. */
bool scenario_refresh(const char *path);

/* The text of a key, `{device}` filled in; its length, or -1 when the key says nothing. */
long scenario_text(struct subject who, const char *key, char *buffer, size_t size);

/* The number of a key; of a comma-separated list the next one, the last one stays. */
bool scenario_number(struct subject who, const char *key, unsigned long long *number);
bool scenario_real(struct subject who, const char *key, double *number);

/* The action due now under a key, counted; false when none is due. The text is a copy to free. */
bool scenario_action(struct subject who, const char *key, struct action *due);

/* Do it: 0 or the error to answer. May sleep, hang, crash or end the process. */
int action_run(const struct action *due);

/* Calls made before this process began, for actions that count them. */
void scenario_calls_before(long calls);

/* How many cards there are as it was last counted, which is at an index, and the way back. */
unsigned known_count(bool count_anew);
int card_at(unsigned index);
int index_of(int card);

/* What ends, floods or doubles a process; see process.c. */
void process_run(const struct action *due);

/* Fill `action` from "error 15 after 3" and the like; false when the text is a plain value. */
bool action_parse(const char *text, struct action *action);

#endif
