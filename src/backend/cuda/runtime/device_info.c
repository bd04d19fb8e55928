#include "backend/cuda/runtime/device_info.h"

#include <stdio.h>
#include <string.h>

#include "backend/cuda/runtime/cuda_error.h"

/* The version of the driver's kernel module: the first word of the form 580.65.06 in the module's
 * file below /proc. Empty where there is no such file or word. */
static void module_version(char *version, size_t size)
{
    char text[512] = "", *rest = NULL;
    version[0] = '\0';
    FILE *file = fopen("/proc/driver/nvidia/version", "r");
    if (!file)
        return;
    if (!fgets(text, sizeof text, file))
        text[0] = '\0';
    fclose(file);
    for (char *word = strtok_r(text, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest))
        if (strspn(word, "0123456789.") == strlen(word) && strchr(word, '.')) {
            snprintf(version, size, "%.32s", word);
            return;
        }
}

enum status device_use(int device, struct error *error)
{
    return cuda_status(cudaSetDevice(device), "choosing the GPU", error);
}

enum status device_attribute(int device, enum cudaDeviceAttr attribute, int *value,
                             struct error *error)
{
    return cuda_status(cudaDeviceGetAttribute(value, attribute, device),
                       "asking for the GPU's properties", error);
}

enum status device_memory_free(int device, uint64_t *bytes, uint64_t *all, struct error *error)
{
    size_t free_bytes = 0, all_bytes = 0;
    *bytes = *all = 0;
    TRY(device_use(device, error));
    cudaError_t code = cudaMemGetInfo(&free_bytes, &all_bytes);
    TRY(cuda_status(code, "asking for the GPU's memory", error));
    *bytes = free_bytes;
    *all = all_bytes;
    return STATUS_OK;
}

enum status device_info(int device, struct backend_device *info, struct error *error)
{
    int driver, runtime;
    struct cudaDeviceProp properties;
    char module[40];
    static const char doing[] = "asking for the GPU's name";
    TRY(cuda_status(cudaGetDeviceProperties(&properties, device), doing, error));
    const int bus_bytes = (int)sizeof info->bus;
    TRY(cuda_status(cudaDeviceGetPCIBusId(info->bus, bus_bytes, device), doing, error));
    TRY(cuda_status(cudaDriverGetVersion(&driver), doing, error));
    TRY(cuda_status(cudaRuntimeGetVersion(&runtime), doing, error));
    module_version(module, sizeof module);
    snprintf(info->name, sizeof info->name, "%s", properties.name);
    snprintf(info->driver, sizeof info->driver, "%s%sCUDA %d.%d", module, module[0] ? ", " : "",
             driver / 1000, driver % 1000 / 10);
    snprintf(info->runtime, sizeof info->runtime, "CUDA %d.%d", runtime / 1000,
             runtime % 1000 / 10);
    return STATUS_OK;
}

enum status device_count(int *count, struct error *error)
{
    return cuda_status(cudaGetDeviceCount(count), "the number of GPUs", error);
}
