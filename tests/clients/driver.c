/* A CUDA driver without a GPU: it answers what cuda.core asks before it compiles and links, as one sm_90 device
   would. Functions that it does not know return CUDA_ERROR_NOT_SUPPORTED; with DRIVER_TRACE set their names are
   printed when they are looked up.

       cc -shared -fPIC -o libdriver.so driver.c

   It must not be found as libcuda.so.1: NVRTC opens that name and expects a whole driver. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_DEVICE = 101, NOT_SUPPORTED = 801 };
enum { COMPUTE_CAPABILITY_MAJOR = 75 };

static int the_context;

static int no_arguments(void) { return SUCCESS; }
static int not_supported(void) { return NOT_SUPPORTED; }

int cuInit(unsigned flags) { (void)flags; return SUCCESS; }
int cuDriverGetVersion(int *version) { *version = 13000; return SUCCESS; }
int cuDeviceGetCount(int *count) { *count = 1; return SUCCESS; }

int cuDeviceGet(int *device, int ordinal) {
    *device = 0;
    return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int size, int device) {
    (void)device;
    snprintf(name, (size_t)size, "no GPU");
    return SUCCESS;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    (void)device;
    *value = attribute == COMPUTE_CAPABILITY_MAJOR ? 9 : 0;
    return SUCCESS;
}

int cuDeviceComputeCapability(int *major, int *minor, int device) {
    (void)device;
    *major = 9;
    *minor = 0;
    return SUCCESS;
}

int cuDeviceGetUuid(char *uuid, int device) {
    (void)device;
    memset(uuid, 0, 16);
    return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **context, int device) {
    (void)device;
    *context = &the_context;
    return SUCCESS;
}

int cuDevicePrimaryCtxGetState(int device, unsigned *flags, int *active) {
    (void)device;
    *flags = 0;
    *active = 1;
    return SUCCESS;
}

int cuCtxGetCurrent(void **context) { *context = &the_context; return SUCCESS; }
int cuCtxPopCurrent(void **context) { *context = &the_context; return SUCCESS; }
int cuCtxGetDevice(int *device) { *device = 0; return SUCCESS; }

int cuCtxGetApiVersion(void *context, unsigned *version) {
    (void)context;
    *version = 3020;
    return SUCCESS;
}

int cuMemGetInfo(size_t *unused, size_t *total) {
    *unused = *total = (size_t)1 << 34;
    return SUCCESS;
}

int cuGetErrorName(int error, const char **text) {
    (void)error;
    *text = "CUDA_ERROR";
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text) {
    (void)error;
    *text = "there is no GPU behind this driver";
    return SUCCESS;
}

int cuGetProcAddress_v2(const char *name, void **function, int version, uint64_t flags, int *status) {
    static const struct {
        const char *name;
        void *function;
    } known[] = {
        {"cuInit", cuInit},
        {"cuDriverGetVersion", cuDriverGetVersion},
        {"cuDeviceGetCount", cuDeviceGetCount},
        {"cuDeviceGet", cuDeviceGet},
        {"cuDeviceGetName", cuDeviceGetName},
        {"cuDeviceGetAttribute", cuDeviceGetAttribute},
        {"cuDeviceComputeCapability", cuDeviceComputeCapability},
        {"cuDeviceGetUuid", cuDeviceGetUuid},
        {"cuDeviceGetUuid_v2", cuDeviceGetUuid},
        {"cuDevicePrimaryCtxRetain", cuDevicePrimaryCtxRetain},
        {"cuDevicePrimaryCtxGetState", cuDevicePrimaryCtxGetState},
        {"cuDevicePrimaryCtxRelease", no_arguments},
        {"cuDevicePrimaryCtxSetFlags", no_arguments},
        {"cuCtxGetCurrent", cuCtxGetCurrent},
        {"cuCtxPopCurrent", cuCtxPopCurrent},
        {"cuCtxGetDevice", cuCtxGetDevice},
        {"cuCtxGetApiVersion", cuCtxGetApiVersion},
        {"cuCtxSetCurrent", no_arguments},
        {"cuCtxPushCurrent", no_arguments},
        {"cuCtxSynchronize", no_arguments},
        {"cuMemGetInfo", cuMemGetInfo},
        {"cuGetErrorName", cuGetErrorName},
        {"cuGetErrorString", cuGetErrorString},
        {"cuGetProcAddress", cuGetProcAddress_v2},
        {"cuGetProcAddress_v2", cuGetProcAddress_v2},
    };
    (void)version;
    (void)flags;
    if (status)
        *status = 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(name, known[i].name) == 0) {
            *function = known[i].function;
            return SUCCESS;
        }
    }
    if (getenv("DRIVER_TRACE"))
        fprintf(stderr, "driver: %s\n", name);
    *function = not_supported;
    return SUCCESS;
}

int cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
    return cuGetProcAddress_v2(name, function, version, flags, NULL);
}
