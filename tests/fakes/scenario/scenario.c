/* Reads a scenario file and looks keys up in it. */
#define _GNU_SOURCE
#include "scenario.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

struct entry {
    unsigned hash;
    int next; /* the next entry of the same bucket, or -1 */
    char *key;
    bool has_value, has_action;
    char *value; /* NULL when the line says `na` */
    size_t length;
    long reads;
    struct action action;
};

static struct entry *entries;
static size_t entry_count, entry_room;
enum { BUCKETS = 4096 };
static int buckets[BUCKETS];
static struct stat last_stat;
static bool loaded;
static long calls_before;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void load(const char *path, int depth);

static unsigned hash_of(const char *key) {
    unsigned hash = 5381;
    while (*key) hash = hash * 33 + (unsigned char)*key++;
    return hash;
}

static struct entry *find(const char *key) {
    unsigned hash = hash_of(key);
    if (!entry_count) return NULL;
    for (int i = buckets[hash % BUCKETS]; i >= 0; i = entries[i].next)
        if (entries[i].hash == hash && strcmp(entries[i].key, key) == 0) return &entries[i];
    return NULL;
}

static struct entry *find_or_add(const char *key) {
    struct entry *entry = find(key);
    if (entry) return entry;
    if (entry_count == entry_room) {
        entry_room = entry_room ? entry_room * 2 : 256;
        entries = realloc(entries, entry_room * sizeof *entries);
        if (!entries) abort();
    }
    if (!entry_count) memset(buckets, -1, sizeof buckets);
    entry = &entries[entry_count];
    memset(entry, 0, sizeof *entry);
    entry->hash = hash_of(key);
    entry->key = strdup(key);
    entry->next = buckets[entry->hash % BUCKETS];
    buckets[entry->hash % BUCKETS] = (int)entry_count++;
    return entry;
}

static void forget_all(void) {
    for (size_t i = 0; i < entry_count; i++) {
        free(entries[i].key);
        free(entries[i].value);
        free(entries[i].action.text);
    }
    entry_count = 0;
}

static size_t unhex(const char *text, char *out) {
    size_t length = 0;
    unsigned byte;
    while (sscanf(text, " %2x", &byte) == 1) {
        out[length++] = (char)byte;
        text += strspn(text, " ") + 2;
    }
    out[length] = 0;
    return length;
}

static void set_value(struct entry *entry, const char *text) {
    free(entry->value);
    entry->value = NULL;
    entry->has_value = true;
    if (strcmp(text, "na") == 0) return;
    entry->value = malloc(strlen(text) + 1);
    if (!entry->value) abort();
    if (strncmp(text, "hex ", 4) == 0) {
        entry->length = unhex(text + 4, entry->value);
        return;
    }
    if (strncmp(text, "text ", 5) == 0) text += 5;
    strcpy(entry->value, text);
    entry->length = strlen(text);
}

static char *trimmed(char *text) {
    text += strspn(text, " \t");
    for (size_t n = strlen(text); n && strchr(" \t\r\n", text[n - 1]); n--) text[n - 1] = 0;
    return text;
}

static void include(const char *from, const char *name, int depth) {
    char path[4096];
    const char *slash = strrchr(from, '/');
    if (name[0] == '/' || !slash)
        snprintf(path, sizeof path, "%s", name);
    else
        snprintf(path, sizeof path, "%.*s/%s", (int)(slash - from), from, name);
    load(path, depth + 1);
}

static void read_line(const char *path, char *line, int depth) {
    char *equals = strchr(line, '=');
    line = trimmed(line);
    if (*line == 0 || *line == '#' || !equals) return;
    *equals = 0;
    char *key = trimmed(line), *text = trimmed(equals + 1);
    if (strcmp(key, "include") == 0) {
        include(path, text, depth);
        return;
    }
    struct action action;
    if (action_parse(text, &action)) {
        struct entry *entry = find_or_add(key);
        free(entry->action.text);
        entry->action = action;
        entry->has_action = true;
    } else {
        set_value(find_or_add(key), text);
    }
}

static void load(const char *path, int depth) {
    FILE *file = depth < 8 ? fopen(path, "re") : NULL;
    char *line = NULL;
    size_t room = 0;
    if (!file) {
        fprintf(stderr, "fake: cannot read the scenario %s\n", path);
        return;
    }
    while (getline(&line, &room, file) >= 0) read_line(path, line, depth);
    free(line);
    fclose(file);
}

static bool same_file(const struct stat *now) {
    return now->st_mtim.tv_sec == last_stat.st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == last_stat.st_mtim.tv_nsec &&
           now->st_size == last_stat.st_size && now->st_ino == last_stat.st_ino;
}

void scenario_calls_before(long calls) { calls_before = calls; }

bool scenario_refresh(const char *path) {
    struct stat now;
    pthread_mutex_lock(&lock);
    if (path && stat(path, &now) == 0 && !(loaded && same_file(&now))) {
        forget_all();
        load(path, 0);
        last_stat = now;
        loaded = true;
    }
    bool known = loaded;
    pthread_mutex_unlock(&lock);
    return known;
}

/* The entry that speaks for this subject: its own line before the line for all of its kind. */
static struct entry *resolve(struct subject who, const char *key, bool want_action) {
    char own[256], shared[256];
    const char *forms[2] = {shared, NULL};
    if (who.mig >= 0) {
        snprintf(own, sizeof own, "device.%d.mig.%d.%s", who.device, who.mig, key);
        snprintf(shared, sizeof shared, "mig.%s", key);
    } else {
        snprintf(own, sizeof own, "device.%d.%s", who.device, key);
        snprintf(shared, sizeof shared, "%s", key);
    }
    if (who.device >= 0) {
        forms[0] = own;
        forms[1] = shared;
    }
    for (int i = 0; i < 2 && forms[i]; i++) {
        struct entry *entry = find(forms[i]);
        if (entry && (want_action ? entry->has_action : entry->has_value)) return entry;
    }
    return NULL;
}

static size_t fill_in(struct subject who, const char *text, size_t length, char *out, size_t size) {
    static const char mark[] = "{device}";
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++) {
        if (who.device >= 0 && strncmp(text + i, mark, sizeof mark - 1) == 0) {
            used += (size_t)snprintf(out + used, size - used, "%d", who.device);
            i += sizeof mark - 2;
        } else {
            out[used++] = text[i];
        }
    }
    if (used >= size) used = size - 1;
    out[used] = 0;
    return used;
}

long scenario_text(struct subject who, const char *key, char *buffer, size_t size) {
    long length = -1;
    pthread_mutex_lock(&lock);
    const struct entry *entry = resolve(who, key, false);
    if (entry && entry->value)
        length = (long)fill_in(who, entry->value, entry->length, buffer, size);
    pthread_mutex_unlock(&lock);
    return length;
}

/* Copy the element of a comma-separated list whose turn it is. */
static bool next_element(struct subject who, const char *key, char *buffer, size_t size) {
    bool found = false;
    pthread_mutex_lock(&lock);
    struct entry *entry = resolve(who, key, false);
    if (entry && entry->value) {
        const char *start = entry->value;
        for (long i = -calls_before; i < entry->reads && strchr(start, ','); i++)
            start = strchr(start, ',') + 1;
        entry->reads++;
        fill_in(who, start, strcspn(start, ","), buffer, size);
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}

static unsigned unit_shift(const char *unit) {
    if (strncmp(unit, "KiB", 3) == 0) return 10;
    if (strncmp(unit, "MiB", 3) == 0) return 20;
    return strncmp(unit, "GiB", 3) == 0 ? 30 : 0;
}

bool scenario_number(struct subject who, const char *key, unsigned long long *number) {
    char text[128], *end;
    if (!next_element(who, key, text, sizeof text)) return false;
    *number = strtoull(text, &end, 0);
    if (end == text) return false;
    *number <<= unit_shift(end + strspn(end, " "));
    return true;
}

bool scenario_real(struct subject who, const char *key, double *number) {
    char text[128], *end;
    if (!next_element(who, key, text, sizeof text)) return false;
    *number = strtod(text, &end);
    return end != text;
}

static bool is_due(struct action *action) {
    long seen = calls_before + ++action->seen;
    switch (action->when) {
    case WHEN_AFTER: return seen > action->count;
    case WHEN_TIMES: return seen <= action->count;
    case WHEN_AT: return seen == action->count;
    case WHEN_EVERY: return action->count > 0 && seen % action->count == 0;
    default: return true;
    }
}

bool scenario_action(struct subject who, const char *key, struct action *due) {
    bool found = false;
    pthread_mutex_lock(&lock);
    struct entry *entry = resolve(who, key, true);
    if (entry && entry->action.kind != ACT_NONE && is_due(&entry->action)) {
        *due = entry->action;
        due->text = entry->action.text ? strdup(entry->action.text) : NULL;
        found = true;
    }
    pthread_mutex_unlock(&lock);
    return found;
}
