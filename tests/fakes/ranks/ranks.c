/* One rank of a job: ranks LIBRARY ROOM RANKS RANK STEPS COMPUTE JITTER LATE [leave].

   Waits for the file ROOM.go, becomes a rank with the id that rank 0 writes to ROOM.id, and makes
   STEPS steps: COMPUTE microseconds more or less JITTER, LATE of them more, then ncclAllReduce of
   1000 floats. It ends with ncclCommDestroy; with `leave` it just ends. From one SIGUSR1 to the
   next it computes alone, before its next collective. */

#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct { char internal[128]; } ncclUniqueId;
enum { FLOATS = 1000, FLOAT32 = 7, SUM = 0 };

static void *library;
static volatile sig_atomic_t computes_alone;

static void toggle(int number)
{
    (void)number;
    computes_alone = !computes_alone;
}

/* Takes two fifths of a processor: from a fifth on the exporter calls a process busy. */
static void compute_some(void)
{
    clock_t until = clock() + CLOCKS_PER_SEC / 250;
    while (clock() < until)
        continue;
    usleep(6000);
}

static void *function(const char *name)
{
    void *found = dlsym(library, name);
    if (found == NULL) {
        fprintf(stderr, "there is no %s\n", name);
        exit(3);
    }
    return found;
}

static ncclUniqueId meet(const char *room, int rank)
{
    ncclUniqueId id;
    char path[512], made[512];
    snprintf(path, sizeof path, "%s.id", room);
    snprintf(made, sizeof made, "%s.new", room);
    if (rank == 0) {
        ((int (*)(ncclUniqueId *))function("ncclGetUniqueId"))(&id);
        FILE *file = fopen(made, "wb");
        if (file == NULL || fwrite(&id, sizeof id, 1, file) != 1)
            exit(4);
        fclose(file);
        rename(made, path);
        return id;
    }
    while (access(path, F_OK) != 0)
        usleep(5000);
    FILE *file = fopen(path, "rb");
    if (file == NULL || fread(&id, sizeof id, 1, file) != 1)
        exit(4);
    fclose(file);
    return id;
}

int main(int count, char **words)
{
    char go[512];
    void *comm;
    if (count < 9)
        return 2;
    signal(SIGUSR1, toggle);
    library = dlopen(words[1], RTLD_NOW);
    if (library == NULL)
        return 1;
    int ranks = atoi(words[3]), rank = atoi(words[4]), steps = atoi(words[5]);
    int compute = atoi(words[6]), jitter = atoi(words[7]), late = atoi(words[8]);
    int (*init)(void **, int, ncclUniqueId, int) = function("ncclCommInitRank");
    int (*reduce)(const void *, void *, size_t, int, int, void *, void *)
        = function("ncclAllReduce");
    int (*synchronize)(void *) = function("stubSynchronize");
    int (*destroy)(void *) = function("ncclCommDestroy");
    snprintf(go, sizeof go, "%s.go", words[2]);
    while (access(go, F_OK) != 0)
        usleep(5000);
    srand(rank + 1);
    if (init(&comm, ranks, meet(words[2], rank), rank) != 0)
        return 5;
    for (int step = 0; step < steps; step++) {
        int extra = jitter ? rand() % (2 * jitter) - jitter : 0;
        usleep(compute + extra + late);
        while (computes_alone)
            compute_some();
        reduce(NULL, NULL, FLOATS, FLOAT32, SUM, comm, NULL);
        synchronize(comm);
    }
    if (count < 10 || strcmp(words[9], "leave") != 0)
        destroy(comm);
    printf("ncclAllReduce %d\n", steps);
    return 0;
}
