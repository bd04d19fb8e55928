#include "backend/cuda/runtime/device_info.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"

/* The kernel module's version: the first word of the form 580.65.06 in what it says of itself.
 * Empty where it says nothing. */
static void module_version(char *version, size_t size)
{
    char line[512] = "", *rest = NULL;
    version[0] = '\0';
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file)
        return;
    if (!fgets(line, sizeof line, file))
        line[0] = '\0';
    fclose(file);
    for (char *word = strtok_r(line, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
            snprintf(version, size, "%.32s", word);
            return;
        }
}

enum status device_info(struct backend_device *device, struct error *error)
{
    int number, driver, runtime;
    struct cudaDeviceProp properties;
    char module[40];
    cudaError_t code = cudaGetDevice(&number);
    if (code == cudaSuccess)
        code = cudaGetDeviceProperties(&properties, number);
    if (code == cudaSuccess)
        code = cudaDriverGetVersion(&driver);
    if (code == cudaSuccess)
        code = cudaRuntimeGetVersion(&runtime);
    if (code != cudaSuccess)
        return cuda_status(code, "asking for the device's name", error);
    module_version(module, sizeof module);
    snprintf(device->name, sizeof device->name, "%s", properties.name);
    snprintf(device->driver, sizeof device->driver, "%s%sCUDA %d.%d", module, module[0] ? ", " : "",
             driver / 1000, driver % 1000 / 10);
    snprintf(device->runtime, sizeof device->runtime, "CUDA %d.%d", runtime / 1000,
             runtime % 1000 / 10);
    return STATUS_OK;
}
