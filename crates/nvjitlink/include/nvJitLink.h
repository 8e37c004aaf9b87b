/* The functions of libnvJitLink, declared in warpld's own words: enough to build programs without a CUDA
 * toolkit. They run with warpld's library or NVIDIA's.
 *
 * As in NVIDIA's header, each function is an inline one over a name with a release, so that a program
 * asks for the release that it was built for: NVJITLINK_RELEASE, 13_0 unless it is defined before. With
 * NVJITLINK_NO_INLINE the plain names are declared, which libraries have since CUDA 12.3. */
#ifndef WARPLD_NVJITLINK_H
#define WARPLD_NVJITLINK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A link. */
typedef struct nvJitLink *nvJitLinkHandle;

/* What a call comes to. Libraries of CUDA 12 know those up to 9. */
typedef enum {
    NVJITLINK_SUCCESS = 0,
    NVJITLINK_ERROR_UNRECOGNIZED_OPTION = 1,
    NVJITLINK_ERROR_MISSING_ARCH = 2,
    NVJITLINK_ERROR_INVALID_INPUT = 3,
    NVJITLINK_ERROR_PTX_COMPILE = 4,
    NVJITLINK_ERROR_NVVM_COMPILE = 5,
    NVJITLINK_ERROR_INTERNAL = 6,
    NVJITLINK_ERROR_THREADPOOL = 7,
    NVJITLINK_ERROR_UNRECOGNIZED_INPUT = 8,
    NVJITLINK_ERROR_FINALIZE = 9,
    NVJITLINK_ERROR_NULL_INPUT = 10,
    NVJITLINK_ERROR_INCOMPATIBLE_OPTIONS = 11,
    NVJITLINK_ERROR_INCORRECT_INPUT_TYPE = 12,
    NVJITLINK_ERROR_ARCH_MISMATCH = 13,
    NVJITLINK_ERROR_OUTDATED_LIBRARY = 14,
    NVJITLINK_ERROR_MISSING_FATBIN = 15,
    NVJITLINK_ERROR_UNRECOGNIZED_ARCH = 16,
    NVJITLINK_ERROR_UNSUPPORTED_ARCH = 17,
    NVJITLINK_ERROR_LTO_NOT_ENABLED = 18
} nvJitLinkResult;

/* What an input is. */
typedef enum {
    NVJITLINK_INPUT_NONE = 0,
    NVJITLINK_INPUT_CUBIN = 1,
    NVJITLINK_INPUT_PTX = 2,
    NVJITLINK_INPUT_LTOIR = 3,
    NVJITLINK_INPUT_FATBIN = 4,
    NVJITLINK_INPUT_OBJECT = 5,
    NVJITLINK_INPUT_LIBRARY = 6,
    NVJITLINK_INPUT_INDEX = 7,
    NVJITLINK_INPUT_ANY = 10 /* its bytes tell */
} nvJitLinkInputType;

#ifndef NVJITLINK_RELEASE
#define NVJITLINK_RELEASE 13_0
#endif
#define NVJITLINK_JOIN_(name, release) __nvJitLink##name##_##release
#define NVJITLINK_JOIN(name, release) NVJITLINK_JOIN_(name, release)

#ifdef NVJITLINK_NO_INLINE
#define NVJITLINK_FUNCTION(name, parameters, arguments) nvJitLinkResult nvJitLink##name parameters;
#else
#define NVJITLINK_FUNCTION(name, parameters, arguments)                                                      \
    nvJitLinkResult NVJITLINK_JOIN(name, NVJITLINK_RELEASE) parameters;                                      \
    static inline nvJitLinkResult nvJitLink##name parameters {                                               \
        return NVJITLINK_JOIN(name, NVJITLINK_RELEASE) arguments;                                            \
    }
#endif

/* Begins a link with options such as "-arch=sm_90". After a refused option there is a link all the same, for
 * its log and for Destroy. */
NVJITLINK_FUNCTION(Create, (nvJitLinkHandle * link, uint32_t count, const char **options), (link, count, options))
/* Ends a link and makes the handle NULL. */
NVJITLINK_FUNCTION(Destroy, (nvJitLinkHandle * link), (link))
/* Adds an input that is copied; its name, which may be NULL, stands in messages. */
NVJITLINK_FUNCTION(AddData, (nvJitLinkHandle link, nvJitLinkInputType type, const void *data, size_t size, const char *name),
                   (link, type, data, size, name))
NVJITLINK_FUNCTION(AddFile, (nvJitLinkHandle link, nvJitLinkInputType type, const char *path), (link, type, path))
/* Links what was added. */
NVJITLINK_FUNCTION(Complete, (nvJitLinkHandle link), (link))
/* Products: the size first, then the bytes. Sizes of texts count the closing NUL, and are 0 for an empty log. */
NVJITLINK_FUNCTION(GetLinkedCubinSize, (nvJitLinkHandle link, size_t *size), (link, size))
NVJITLINK_FUNCTION(GetLinkedCubin, (nvJitLinkHandle link, void *cubin), (link, cubin))
NVJITLINK_FUNCTION(GetLinkedPtxSize, (nvJitLinkHandle link, size_t *size), (link, size))
NVJITLINK_FUNCTION(GetLinkedPtx, (nvJitLinkHandle link, char *text), (link, text))
NVJITLINK_FUNCTION(GetLinkedLTOIRSize, (nvJitLinkHandle link, size_t *size), (link, size))
NVJITLINK_FUNCTION(GetLinkedLTOIR, (nvJitLinkHandle link, void *ir), (link, ir))
NVJITLINK_FUNCTION(GetErrorLogSize, (nvJitLinkHandle link, size_t *size), (link, size))
NVJITLINK_FUNCTION(GetErrorLog, (nvJitLinkHandle link, char *text), (link, text))
NVJITLINK_FUNCTION(GetInfoLogSize, (nvJitLinkHandle link, size_t *size), (link, size))
NVJITLINK_FUNCTION(GetInfoLog, (nvJitLinkHandle link, char *text), (link, text))
/* The release of the library; since CUDA 12.3. */
nvJitLinkResult nvJitLinkVersion(unsigned int *major, unsigned int *minor);

#undef NVJITLINK_FUNCTION
#undef NVJITLINK_JOIN
#undef NVJITLINK_JOIN_

#ifdef __cplusplus
}
#endif
#endif
