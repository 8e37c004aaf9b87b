/* warpld.h: links CUDA device code in memory, and says what was done and why.
 *
 *     warpld_session *session;
 *     warpld_create(&session);
 *     warpld_set(session, "arch", "sm_90");
 *     warpld_add(session, "a.cubin", a, a_size);
 *     warpld_add_file(session, "libb.a");
 *     if (warpld_link(session) == WARPLD_SUCCESS)
 *         warpld_cubin(session, &data, &size);         // for cuModuleLoadData
 *     else
 *         warpld_diagnostics(session, &json);
 *     warpld_destroy(session);                         // frees everything
 *
 * Inputs are cubins, fatbins, host objects with device code and archives of these; their bytes and names are
 * copied. What a session gives out (bytes and texts) is freed by warpld_destroy and is valid until then, or until
 * warpld_link or warpld_clear is called on the session again. Texts are UTF-8 and end with a NUL.
 *
 * A session is used by one thread at a time; sessions do not disturb each other. NULL is answered with
 * WARPLD_INVALID_ARGUMENT wherever a pointer must not be NULL, and damaged inputs with diagnostics. Nothing is printed.
 *
 * Link with -lwarpld. */
#ifndef WARPLD_H
#define WARPLD_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a call came to. New results may be added. */
typedef enum warpld_result {
    WARPLD_SUCCESS = 0,
    WARPLD_LINK_FAILED = 1,      /* warpld_diagnostics says why */
    WARPLD_INVALID_ARGUMENT = 2, /* NULL, or text that is not UTF-8 */
    WARPLD_UNKNOWN_SETTING = 3,
    WARPLD_INVALID_VALUE = 4,    /* of a setting */
    WARPLD_NO_TARGET = 5,        /* the setting "arch" is missing */
    WARPLD_NO_RESULT = 6,        /* nothing was linked, the link failed, or "report" is off */
    WARPLD_CANNOT_READ = 7,      /* a file */
    WARPLD_NOT_A_CUBIN = 8,
    WARPLD_INTERNAL = 9          /* a defect of this library */
} warpld_result;

typedef struct warpld_session warpld_session;

/* The version of this interface: 1. It changes if a program that was built with this header would no longer work. */
#define WARPLD_API_VERSION 1
uint32_t warpld_api_version(void);

/* The version of the library, such as "0.1.0". */
const char *warpld_version(void);

/* The name of a result, such as "link failed"; never NULL. */
const char *warpld_result_name(int result);

/* A new session. */
warpld_result warpld_create(warpld_session **session);

/* Frees a session and everything that it gave out. NULL is allowed. */
void warpld_destroy(warpld_session *session);

/* What the last call on this session that failed says about it; never NULL. */
const char *warpld_error(const warpld_session *session);

/* Changes a setting. The names are those of the command's options:
 *
 *   arch                          target, such as sm_90; required
 *   kernels-used                  keep only kernels whose mangled name contains this; may be set several times
 *   variables-used                the same for variables
 *   cuda-release                  the release of CUDA whose nvlink the link stands for, such as 13.0
 *   identity                      who the output says has made it: warpld, nvlink or nvjitlink
 *   cuda-path                     a CUDA toolkit whose ptxas compiles PTX, or "auto" for the one that the command
 *                                 would find. Unless it is set, no program is run and PTX is an error
 *   threads                       how many threads the link starts; 0 decides by its size
 *
 * These are on or off ("on", "1", "true", "" or NULL; "off", "0", "false"):
 *
 *   relocatable                   joins the inputs into one relocatable object
 *   debug                         links for debugging: keeps unreachable code
 *   report                        collects what warpld_report, warpld_map, warpld_resources and warpld_why_live say;
 *                                 on unless turned off
 *   ignore-host-info              keeps kernels that no host code names
 *   machine-code-only             from sm_100 on: no Mercury code in the output
 *   suppress-debug-info           with debug: leaves out what debuggers alone read
 *   preserve-relocs               keeps the relocations that the link resolved
 *   force-rela                    writes relocations with addends
 *   reserve-null-pointer          keeps the first bytes of shared memory free
 *   disable-smem-reservation      does without the shared memory that sm_90 and later reserve
 *   enable-extended-smem          allows as much static shared memory as the hardware has
 *   allow-undefined-globals       leaves undefined variables to the loader
 *   allow-newer-inputs            links inputs of releases that are not known yet
 *   keep-system-libraries         links libcudadevrt.a even if nothing needs it
 *   lazy-archives                 takes from archives only what something needs, as host linkers do
 *   extra-warnings                also warns about functions whose address is taken and never used
 *   suppress-stack-size-warning   does not warn about kernels whose stack size is unknown */
warpld_result warpld_set(warpld_session *session, const char *name, const char *value);

/* Adds an input behind those that are there. Its name stands in messages and in the map; .cubin, .fatbin and .ptx are
 * promises that the bytes must keep. */
warpld_result warpld_add(warpld_session *session, const char *name, const void *data, size_t size);

/* The same for a file, which is read now. */
warpld_result warpld_add_file(warpld_session *session, const char *path);

/* Forgets inputs and results. The settings stay. */
warpld_result warpld_clear(warpld_session *session);

/* Links the inputs. May be called again, after inputs were added or settings changed. */
warpld_result warpld_link(warpld_session *session);

/* The output of the last link. */
warpld_result warpld_cubin(warpld_session *session, const void **data, size_t *size);

/* The messages of the last link, warnings included, in order: an array of
 * {"severity", "code", "message", "symbol", "demangled", "kernel", "notes"}; symbol, demangled and kernel only where
 * they are known. The codes are listed in the guide. */
warpld_result warpld_diagnostics(warpld_session *session, const char **json);

/* What the last link made, as JSON: {"format": 1, "target", "memory", "kernels", "functions", "variables", "map"}.
 * Kernels have their registers, barriers, stack, memory and the callee that is responsible; functions their callers'
 * edges and whether they are live; the map says which input each part of the output came from. */
warpld_result warpld_report(warpld_session *session, const char **json);

/* The map, and what kernels need, as text for people. */
warpld_result warpld_map(warpld_session *session, const char **text);
warpld_result warpld_resources(warpld_session *session, const char **text);

/* Why a symbol is in the output, and why it is not, as text for people: the chain of calls from a kernel. The symbol
 * is named as in the object or as in the source. */
warpld_result warpld_why_live(warpld_session *session, const char *symbol, const char **text);
warpld_result warpld_why_dead(warpld_session *session, const char *symbol, const char **text);

/* Sections, symbols, relocations, attributes and kernels of a device ELF, as JSON: a file of `warpld dump --json`. */
warpld_result warpld_dump(warpld_session *session, const char *name, const void *data, size_t size, const char **json);

#ifdef __cplusplus
}
#endif
#endif
