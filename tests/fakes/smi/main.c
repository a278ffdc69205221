/* A fake nvidia-smi: what it is asked, what befalls it, what it answers. */
#define _GNU_SOURCE
#include "smi.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

/* FAKE_SMI_SCENARIO, else `nvidia-smi.scenario` beside the program: a caller may clear the
   environment. */
static const char *scenario_path(void) {
    static char beside[4096];
    const char *named = getenv("FAKE_SMI_SCENARIO");
    if (named) return named;
    ssize_t length = readlink("/proc/self/exe", beside, sizeof beside - 16);
    if (length < 0) exit(127);
    strcpy(beside + length, ".scenario");
    return beside;
}

/* How often the program has run before, kept beside the scenario. */
static long count_run(const char *scenario) {
    char path[4200], text[32] = "";
    snprintf(path, sizeof path, "%s.runs", scenario);
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0) return 0;
    flock(file, LOCK_EX);
    ssize_t length = read(file, text, sizeof text - 1);
    long before = length > 0 ? atol(text) : 0;
    int used = snprintf(text, sizeof text, "%ld\n", before + 1);
    if (pwrite(file, text, (size_t)used, 0) < 0) before = 0;
    close(file);
    return before;
}

/* Add one line of arguments and one of environment, each ended by NUL bytes between items. */
static void record(char **arguments) {
    char path[4096];
    extern char **environ;
    if (scenario_text(NOBODY, "smi.record", path, sizeof path) < 0) return;
    FILE *file = fopen(path, "ae");
    if (!file) return;
    for (char **at = arguments; *at; at++) fprintf(file, "%s%c", *at, 0);
    fputc('\n', file);
    for (char **at = environ; *at; at++) fprintf(file, "%s%c", *at, 0);
    fputc('\n', file);
    fclose(file);
}

/* What `smi`, `smi.1`, `smi.2` … say befalls the program, in this order. */
static void meet_faults(void) {
    char key[32] = "smi";
    for (int i = 0; i < 10; i++) {
        if (i) snprintf(key, sizeof key, "smi.%d", i);
        due_error(NOBODY, key);
    }
}

static int answer(FILE *out, char **arguments) {
    const char *chosen = NULL;
    bool query_all = false, xml = false;
    for (char **at = arguments + 1; *at; at++) {
        if (strcmp(*at, "-q") == 0) query_all = true;
        else if (strcmp(*at, "-x") == 0) xml = true;
        else if (strncmp(*at, "--id=", 5) == 0) chosen = *at + 5;
        else if (strcmp(*at, "-i") == 0 && at[1]) chosen = *++at;
        else if (strcmp(*at, "-L") && strcmp(*at, "--list-gpus")) {
            fprintf(out, "Invalid combination of input arguments. Please run 'nvidia-smi -h' for "
                         "help.\n\n");
            return 1;
        }
    }
    int code = due_error(NOBODY, "init");
    if (code) return say_init_error(out, code);
    if (known_count(true) == 0) return say_no_devices(out);
    return query_all && xml ? query_xml(out, chosen) : list_gpus(out);
}

/* Write the answer, `smi.drip` bytes a second where that is said. */
static bool write_slowly(const char *bytes, size_t length) {
    double rate = 0;
    scenario_real(NOBODY, "smi.drip", &rate);
    while (length > 0) {
        ssize_t written = write(STDOUT_FILENO, bytes, rate > 0 ? 1 : length);
        if (written < 0) return false;
        bytes += written;
        length -= (size_t)written;
        if (rate > 0) usleep((useconds_t)(1e6 / rate));
    }
    return true;
}

int main(int count, char **arguments) {
    char *bytes = NULL;
    size_t length = 0;
    unsigned long long exit_status;
    char trailer[4096];
    (void)count;
    const char *path = scenario_path();
    if (!scenario_refresh(path)) return say_init_error(stdout, 9);
    scenario_calls_before(count_run(path));
    record(arguments);
    meet_faults();
    FILE *out = open_memstream(&bytes, &length);
    if (!out) return 127;
    int status = answer(out, arguments);
    if (scenario_text(NOBODY, "smi.trailer", trailer, sizeof trailer) >= 0)
        fprintf(out, "%s\n", trailer);
    fclose(out);
    if (scenario_number(NOBODY, "smi.exit", &exit_status)) status = (int)exit_status;
    if (!write_slowly(bytes, length)) status = 1;
    free(bytes);
    return status;
}
