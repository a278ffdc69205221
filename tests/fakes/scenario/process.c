/* What a fault does to the process: delays, hangs, crashes, noise, leaks, children. */
#define _GNU_SOURCE
#include "scenario.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

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

static void write_all(int file, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(file, bytes, length);
        if (written < 0) _exit(1);
        bytes += written;
        length -= (size_t)written;
    }
}

static void print_file(const char *path) {
    char block[65536];
    ssize_t length;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    while (file >= 0 && (length = read(file, block, sizeof block)) > 0)
        write_all(STDOUT_FILENO, block, (size_t)length);
    if (file >= 0) close(file);
}

static void flood(int file, bool lines) {
    static char block[65536];
    memset(block, 'y', sizeof block);
    for (size_t i = 1; lines && i < sizeof block; i += 2) block[i] = '\n';
    for (;;) write_all(file, block, sizeof block);
}

/* A child that keeps what this process has open, in its group or in a session of its own. */
static void leave_child(double seconds, bool detached) {
    if (fork() != 0) return;
    if (detached) setsid();
    sleep_for(seconds);
    _exit(0);
}

void process_run(const struct action *due) {
    switch (due->kind) {
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
    case ACT_PRINT_FILE: print_file(due->text); break;
    case ACT_FLOOD: flood((int)due->number, true); break;
    case ACT_FLOOD_LINE: flood((int)due->number, false); break;
    case ACT_CHILD: leave_child(due->number, false); break;
    case ACT_DETACHED: leave_child(due->number, true); break;
    case ACT_IGNORE: signal((int)due->number, SIG_IGN); break;
    default: break;
    }
}
