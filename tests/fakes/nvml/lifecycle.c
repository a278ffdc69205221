/* Start and stop, versions, and the words for the error codes. */
#include "answer.h"

#include <stdatomic.h>
#include <stddef.h>

static atomic_int users;

bool is_initialized(void) { return atomic_load(&users) > 0; }

API int nvmlInitWithFlags(unsigned flags) {
    (void)flags;
    int result = begin("nvmlInitWithFlags", NOBODY, "init");
    if (result == OK) atomic_fetch_add(&users, 1);
    return result;
}

API int nvmlInit_v2(void) {
    int result = begin("nvmlInit_v2", NOBODY, "init");
    if (result == OK) atomic_fetch_add(&users, 1);
    return result;
}

API int nvmlInit(void) { return nvmlInit_v2(); }

API int nvmlShutdown(void) {
    if (!is_initialized()) return UNINITIALIZED;
    int result = begin("nvmlShutdown", NOBODY, "shutdown");
    if (result == OK) atomic_fetch_sub(&users, 1);
    return result;
}

API const char *nvmlErrorString(int code) {
    static const char *const words[] = {
        "Success", "Uninitialized", "Invalid Argument", "Not Supported",
        "Insufficient Permissions", "Already Initialized", "Not Found", "Insufficient Size",
        "Insufficient External Power", "Driver Not Loaded", "Timeout", "Interrupt Request Issue",
        "NVML Shared Library Not Found", "Function Not Found", "Corrupted infoROM",
        "GPU is lost", "GPU requires reset", "The operating system has blocked the request",
        "Driver/library version mismatch", "In use by another client", "Insufficient Memory",
        "No data", "vGPU ECC is not supported", "Insufficient Resources",
        "Frequency not supported", "Argument version mismatch", "Deprecated function",
        "System is not ready", "GPU not found", "Invalid state", "Reset type not supported",
    };
    const char *word = word_of(words, sizeof words / sizeof *words, (unsigned)code);
    return word ? word : "Unknown Error";
}

static int system_text(const char *function, const char *key, char *out, unsigned size) {
    int result = is_initialized() ? begin(function, NOBODY, key) : UNINITIALIZED;
    return result ? result : get_text(NOBODY, key, out, size);
}

API int nvmlSystemGetDriverVersion(char *out, unsigned size) {
    return system_text("nvmlSystemGetDriverVersion", "driver_version", out, size);
}

API int nvmlSystemGetNVMLVersion(char *out, unsigned size) {
    return system_text("nvmlSystemGetNVMLVersion", "nvml_version", out, size);
}

static int cuda_version(const char *function, int *out) {
    unsigned number;
    int result = is_initialized() ? begin(function, NOBODY, "cuda_version") : UNINITIALIZED;
    if (!result) result = get_uint(NOBODY, "cuda_version", &number);
    if (!result) *out = (int)number;
    return result;
}

API int nvmlSystemGetCudaDriverVersion(int *out) {
    return cuda_version("nvmlSystemGetCudaDriverVersion", out);
}

API int nvmlSystemGetCudaDriverVersion_v2(int *out) {
    return cuda_version("nvmlSystemGetCudaDriverVersion_v2", out);
}

API int nvmlSystemGetProcessName(unsigned pid, char *out, unsigned size) {
    char key[KEY_SIZE];
    key_of(key, "process.%u.name", pid);
    int result = system_text("nvmlSystemGetProcessName", key, out, size);
    return result == NOT_SUPPORTED ? NOT_FOUND : result;
}
