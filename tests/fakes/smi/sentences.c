/* The sentences and exit statuses of an nvidia-smi that cannot do its work. */
#include "smi.h"

int say_init_error(FILE *out, int code) {
    char version[80] = "550.54";
    switch (code) {
    case 9:
        fputs("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver. Make "
              "sure that the latest NVIDIA driver is installed and running.\n\n", out);
        return 9;
    case 12:
        fputs("NVIDIA-SMI couldn't find libnvidia-ml.so library in your system. Please make sure "
              "that the NVIDIA Display Driver is properly installed and present in your system.\n"
              "Please also try adding directory that contains libnvidia-ml.so to your system "
              "PATH.\n", out);
        return 12;
    case 18:
        scenario_text(NOBODY, "nvml_version", version, sizeof version);
        fprintf(out, "Failed to initialize NVML: Driver/library version mismatch\n"
                     "NVML library version: %s\n", version);
        return 18;
    case 4:
        fputs("Failed to initialize NVML: Insufficient Permissions\n", out);
        return 4;
    case 8:
        fputs("Failed to initialize NVML: Insufficient External Power\n", out);
        return 8;
    default:
        fputs("Failed to initialize NVML: Unknown Error\n", out);
        return 255;
    }
}

int say_no_devices(FILE *out) {
    fputs("No devices were found\n", out);
    return 6;
}

int say_lost(FILE *out, struct subject card, int code) {
    char bus_id[64] = "00000000:00:00.0";
    scenario_text(card, "bus_id", bus_id, sizeof bus_id);
    fprintf(out, "Unable to determine the device handle for GPU%d: %s: ", index_of(card.device),
            bus_id + 4);
    switch (code) {
    case 15: fputs("GPU is lost.  Reboot the system to recover this GPU\n", out); return 15;
    case 16: fputs("GPU requires reset\n", out); return 16;
    case 8: fputs("Insufficient External Power\n", out); return 8;
    case 4: fputs("Insufficient Permissions\n", out); return 4;
    case 6: fputs("Not Found\n", out); return 6;
    default: fputs("Unknown Error\n", out); return 255;
    }
}
