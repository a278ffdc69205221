/* What a card may do instead of answering: errors, delays, hangs, crashes, noise. */
#define _GNU_SOURCE
#include "scenario.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const struct {
    const char *word;
    enum action_kind kind;
    char argument; /* 'n' a number, 't' the rest of the line, 0 none */
} words[] = {
    {"ok", ACT_NONE, 0},      {"error", ACT_ERROR, 'n'}, {"sleep", ACT_SLEEP, 'n'},
    {"hang", ACT_HANG, 0},    {"segv", ACT_SEGV, 0},     {"abort", ACT_ABORT, 0},
    {"exit", ACT_EXIT, 'n'},  {"hold", ACT_HOLD, 't'},   {"leak", ACT_LEAK, 'n'},
    {"print", ACT_PRINT, 't'}, {"warn", ACT_WARN, 't'},  {"close", ACT_CLOSE, 'n'},
};

static bool parse_when(const char *text, struct action *action) {
    char word[8];
    int read = 0;
    text += strspn(text, " ");
    if (*text == 0) return true;
    if (sscanf(text, "%7s %ld %n", word, &action->count, &read) != 2 || text[read]) return false;
    if (strcmp(word, "after") == 0) action->when = WHEN_AFTER;
    else if (strcmp(word, "times") == 0) action->when = WHEN_TIMES;
    else if (strcmp(word, "at") == 0) action->when = WHEN_AT;
    else return false;
    return true;
}

static bool parse_argument(char argument, const char *text, struct action *action) {
    if (argument == 't') {
        action->text = strdup(text);
        return *text != 0;
    }
    if (argument == 'n') {
        char *end;
        action->number = strtod(text, &end);
        if (end == text) return false;
        text = end;
    }
    return parse_when(text, action);
}

bool action_parse(const char *text, struct action *action) {
    size_t length = strcspn(text, " ");
    memset(action, 0, sizeof *action);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strlen(words[i].word) != length || strncmp(text, words[i].word, length)) continue;
        action->kind = words[i].kind;
        text += length;
        if (parse_argument(words[i].argument, text + strspn(text, " "), action)) return true;
        free(action->text);
        action->text = NULL;
        return false;
    }
    return false;
}

static void sleep_for(double seconds) {
    struct timespec left = {.tv_sec = (time_t)seconds};
    left.tv_nsec = (long)((seconds - (double)left.tv_sec) * 1e9);
    while (nanosleep(&left, &left) != 0) continue;
}

static void hang(void) {
    for (;;) pause();
}

static void crash(int signal_number) {
    signal(signal_number, SIG_DFL);
    raise(signal_number);
}

/* Reading blocks for as long as whoever serves the file likes. */
static void hold(const char *path) {
    char byte;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    if (read(file, &byte, 1) < 0) fprintf(stderr, "fake: reading %s failed\n", path);
    close(file);
}

static void leak(size_t bytes) {
    static void *volatile kept;
    void *memory = malloc(bytes);
    if (memory) memset(memory, 0x5a, bytes);
    kept = memory;
    (void)kept;
}

static void say(int file, const char *text) {
    char line[4096];
    int length = snprintf(line, sizeof line, "%s\n", text);
    if (length > 0 && write(file, line, (size_t)length) < 0) return;
}

int action_run(const struct action *due) {
    switch (due->kind) {
    case ACT_ERROR: return (int)due->number;
    case ACT_SLEEP: sleep_for(due->number); break;
    case ACT_HANG: hang(); break;
    case ACT_SEGV: crash(SIGSEGV); break;
    case ACT_ABORT: abort();
    case ACT_EXIT: _exit((int)due->number);
    case ACT_HOLD: hold(due->text); break;
    case ACT_LEAK: leak((size_t)due->number); break;
    case ACT_PRINT: say(STDOUT_FILENO, due->text); break;
    case ACT_WARN: say(STDERR_FILENO, due->text); break;
    case ACT_CLOSE: close((int)due->number); break;
    case ACT_NONE: break;
    }
    return 0;
}
