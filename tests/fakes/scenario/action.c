/* Reads the faults of a scenario: `error 15 after 3`, `hang`, `print some text`. */
#define _GNU_SOURCE
#include "scenario.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    enum action_kind kind;
    char argument; /* 'n' a number, 't' the rest of the line, 0 none */
} words[] = {
    {"ok", ACT_NONE, 0},      {"error", ACT_ERROR, 'n'}, {"sleep", ACT_SLEEP, 'n'},
    {"hang", ACT_HANG, 0},    {"segv", ACT_SEGV, 0},     {"abort", ACT_ABORT, 0},
    {"exit", ACT_EXIT, 'n'},  {"hold", ACT_HOLD, 't'},   {"leak", ACT_LEAK, 'n'},
    {"print", ACT_PRINT, 't'}, {"warn", ACT_WARN, 't'},  {"close", ACT_CLOSE, 'n'},
    {"print_file", ACT_PRINT_FILE, 't'}, {"flood", ACT_FLOOD, 'n'},
    {"flood_line", ACT_FLOOD_LINE, 'n'}, {"child", ACT_CHILD, 'n'},
    {"detached", ACT_DETACHED, 'n'},     {"ignore", ACT_IGNORE, 'n'},
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
    else if (strcmp(word, "every") == 0) action->when = WHEN_EVERY;
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

int action_run(const struct action *due) {
    if (due->kind == ACT_ERROR) return (int)due->number;
    process_run(due);
    return 0;
}
