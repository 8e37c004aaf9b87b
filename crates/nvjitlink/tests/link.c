/* Links the cubins that it is given by libnvJitLink, and writes the result: link ARCH OUTPUT INPUT...
 * Prints the logs; exits with the first result that is not 0. */
#include "nvJitLink.h"
#include <stdio.h>
#include <stdlib.h>

static int failed(nvJitLinkHandle link, nvJitLinkResult result) {
    size_t size = 0;
    if (nvJitLinkGetErrorLogSize(link, &size) == NVJITLINK_SUCCESS && size > 0) {
        char *log = malloc(size);
        nvJitLinkGetErrorLog(link, log);
        fputs(log, stderr);
        free(log);
    }
    nvJitLinkDestroy(&link);
    return result;
}

int main(int count, char **words) {
    if (count < 3) return 100;
    const char *options[] = {words[1]};
    nvJitLinkHandle link;
    nvJitLinkResult result = nvJitLinkCreate(&link, 1, options);
    if (result != NVJITLINK_SUCCESS) return failed(link, result);
    for (int i = 3; i < count; i++) {
        result = nvJitLinkAddFile(link, NVJITLINK_INPUT_ANY, words[i]);
        if (result != NVJITLINK_SUCCESS) return failed(link, result);
    }
    result = nvJitLinkComplete(link);
    if (result != NVJITLINK_SUCCESS) return failed(link, result);
    size_t size;
    if (nvJitLinkGetLinkedCubinSize(link, &size) != NVJITLINK_SUCCESS) return 101;
    void *cubin = malloc(size);
    if (nvJitLinkGetLinkedCubin(link, cubin) != NVJITLINK_SUCCESS) return 102;
    unsigned major, minor;
    if (nvJitLinkVersion(&major, &minor) != NVJITLINK_SUCCESS) return 103;
    printf("%u.%u: %zu bytes\n", major, minor, size);
    FILE *out = fopen(words[2], "wb");
    if (!out || fwrite(cubin, 1, size, out) != size || fclose(out)) return 104;
    free(cubin);
    if (nvJitLinkDestroy(&link) != NVJITLINK_SUCCESS || link) return 105;
    return nvJitLinkDestroy(&link) == NVJITLINK_SUCCESS;
}
