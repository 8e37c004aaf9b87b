// Loads a linked cubin with the driver alone, runs its kernel with eight
// threads and compares what they write:
//
//   loader NAME FILE.cubin SHARED_BYTES VALUE...
//
// Exit status: 0 as expected, 1 not, 77 no driver or no device.
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, STACK_LIMIT = 0 };
typedef int Status;
typedef unsigned long long Address;

static void *driver;
static const char *name;

static void *entry(const char *symbol) {
    void *found = dlsym(driver, symbol);
    if (!found) {
        printf("FAIL %s: the driver has no %s\n", name, symbol);
        exit(1);
    }
    return found;
}

static void check(const char *what, Status status) {
    if (status == 0) return;
    const char *text = "unknown error";
    ((Status(*)(Status, const char **))entry("cuGetErrorString"))(status, &text);
    printf("FAIL %s: %s: %s (%d)\n", name, what, text, status);
    exit(1);
}
// Calls a function of the driver; ARGUMENTS come with their types.
#define CALL(symbol, types, ...) check(#symbol, ((Status(*) types)entry(#symbol))(__VA_ARGS__))

static char *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) return NULL;
    fseek(file, 0, SEEK_END);
    long size = ftell(file);
    rewind(file);
    char *bytes = malloc(size + 1);
    size_t got = bytes ? fread(bytes, 1, size, file) : 0;
    fclose(file);
    return got == (size_t)size ? bytes : NULL;
}

static int skip(const char *why) {
    printf("SKIP %s: %s\n", name, why);
    return 77;
}

int main(int count, char **words) {
    if (count != 4 + THREADS) {
        fprintf(stderr, "usage: loader NAME FILE SHARED_BYTES VALUE x %d\n", THREADS);
        return 2;
    }
    name = words[1];
    driver = dlopen("libcuda.so.1", RTLD_NOW);
    if (!driver) return skip("no CUDA driver");
    int devices = 0;
    if (((Status(*)(unsigned))entry("cuInit"))(0) != 0 ||
        ((Status(*)(int *))entry("cuDeviceGetCount"))(&devices) != 0 || devices == 0)
        return skip("no CUDA device");
    char *image = read_file(words[2]);
    if (!image) {
        printf("FAIL %s: cannot read %s\n", name, words[2]);
        return 1;
    }
    int device;
    void *context, *module, *kernel;
    Address out;
    unsigned got[THREADS];
    CALL(cuDeviceGet, (int *, int), &device, 0);
    CALL(cuDevicePrimaryCtxRetain, (void **, int), &context, device);
    CALL(cuCtxSetCurrent, (void *), context);
    CALL(cuCtxSetLimit, (int, size_t), STACK_LIMIT, 16 << 10);
    CALL(cuModuleLoadData, (void **, const void *), &module, image);
    CALL(cuModuleGetFunction, (void **, void *, const char *), &kernel, module, "run");
    CALL(cuMemAlloc_v2, (Address *, size_t), &out, sizeof got);
    void *arguments[] = {&out};
    CALL(cuLaunchKernel,
         (void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *,
          void **, void **),
         kernel, 1, 1, 1, THREADS, 1, 1, (unsigned)atoi(words[3]), NULL, arguments, NULL);
    CALL(cuCtxSynchronize, (void), );
    CALL(cuMemcpyDtoH_v2, (void *, Address, size_t), got, out, sizeof got);
    for (int i = 0; i < THREADS; i++) {
        unsigned want = (unsigned)strtoul(words[4 + i], NULL, 10);
        if (got[i] != want) {
            printf("FAIL %s: thread %d wrote %u, expected %u\n", name, i, got[i], want);
            return 1;
        }
    }
    printf("PASS %s: %d values as expected\n", name, THREADS);
    return 0;
}
