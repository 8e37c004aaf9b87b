/* Stands in for NVIDIA's libnvJitLink in tests: it keeps what it is told and makes a text of that.
 *
 *   -DMAJOR=13 -DMINOR=0   its release
 *   -DOLD                  only names with versions, and no nvJitLinkVersion, as before 12.3
 *   -DOURS                 with the mark of warpld's own library
 *
 * An option "-refuse" is refused. Data that begin with "bad" are refused, "fatal" make the link fail,
 * "crash" end the process, "hang" do not return, "silent" make an empty text, "extern" one that lacks a
 * function unless kernels are named. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef MAJOR
#define MAJOR 13
#define MINOR 0
#endif
#ifdef OLD
#define JOIN(name, major) __nvJitLink##name##_##major##_0
#define EXPAND(name, major) JOIN(name, major)
#define FN(name) EXPAND(name, MAJOR)
#else
#define FN(name) nvJitLink##name
#endif

struct link {
    char text[65536], errors[4096], infos[4096];
    const char *names[64];
    int inputs, fails, silent;
};

static void add(char *to, size_t room, const char *text) {
    strncat(to, text, room - strlen(to) - 1);
}

#ifdef OURS
int warpld_nvjitlink_version = 1;
#endif

#ifndef OLD
int nvJitLinkVersion(unsigned *major, unsigned *minor) {
    *major = MAJOR, *minor = MINOR;
    return 0;
}
#endif

int FN(Create)(struct link **out, uint32_t count, const char **options) {
    struct link *link = *out = calloc(1, sizeof *link);
    char header[64];
    snprintf(header, sizeof header, ".version 9.%d\n", MINOR);
    add(link->text, sizeof link->text, header);
    for (uint32_t i = 0; i < count; i++) {
        if (!strcmp(options[i], "-refuse")) {
            add(link->errors, sizeof link->errors, "unrecognized option: -refuse\n");
            return 1;
        }
        if (!strncmp(options[i], "-arch=", 6)) {
            add(link->text, sizeof link->text, ".target ");
            add(link->text, sizeof link->text, options[i] + 6);
            add(link->text, sizeof link->text, "\n");
            continue;
        }
        add(link->text, sizeof link->text, "// option ");
        add(link->text, sizeof link->text, options[i]);
        add(link->text, sizeof link->text, "\n");
    }
    add(link->infos, sizeof link->infos, "created\n");
    return 0;
}

int FN(Destroy)(struct link **link) {
    free(*link);
    *link = 0;
    return 0;
}

int FN(AddData)(struct link *link, int type, const char *data, size_t size, const char *name) {
    if (size >= 5 && !memcmp(data, "crash", 5)) abort();
    while (size >= 4 && !memcmp(data, "hang", 4)) sleep(1000);
    if (size >= 3 && !memcmp(data, "bad", 3)) {
        add(link->errors, sizeof link->errors, "ERROR 4 in nvvmAddNVVMContainerToProgram\n");
        return 6;
    }
    if (size >= 5 && !memcmp(data, "fatal", 5)) link->fails = 1;
    if (size >= 6 && !memcmp(data, "silent", 6)) link->silent = 1;
    if (size >= 6 && !memcmp(data, "extern", 6) && !strstr(link->text, "-kernels-used="))
        add(link->text, sizeof link->text, ".extern .func missing\n");
    char line[64];
    snprintf(line, sizeof line, "// input type %d size %zu ", type, size);
    add(link->text, sizeof link->text, line);
    add(link->text, sizeof link->text, type == 2 ? data : "");
    add(link->text, sizeof link->text, "\n");
    /* As in the real one, the name is not copied. */
    link->names[link->inputs++] = name;
    return 0;
}

int FN(AddFile)(struct link *link, int type, const char *path) {
    if (access(path, R_OK)) {
        add(link->errors, sizeof link->errors, "no such file: ");
        add(link->errors, sizeof link->errors, path);
        return 3;
    }
    return FN(AddData)(link, type, "", 0, path);
}

int FN(Complete)(struct link *link) {
    if (link->fails) {
        add(link->errors, sizeof link->errors, "ERROR 9: finish\n");
        return 6;
    }
    for (int i = 0; i < link->inputs; i++) {
        add(link->text, sizeof link->text, "// name ");
        add(link->text, sizeof link->text, link->names[i]);
        add(link->text, sizeof link->text, "\n");
    }
    if (link->silent) link->text[0] = 0;
    return 0;
}

#define GETTER(name, type, from, extra)                                                                      \
    int FN(name##Size)(struct link * link, size_t * size) {                                                  \
        *size = *link->from ? strlen(link->from) + extra : 0;                                                \
        return 0;                                                                                            \
    }                                                                                                        \
    int FN(name)(struct link * link, type * out) {                                                           \
        memcpy(out, link->from, *link->from ? strlen(link->from) + extra : 0);                               \
        return 0;                                                                                            \
    }
GETTER(GetLinkedCubin, void, text, 0)
GETTER(GetLinkedPtx, char, text, 1)
GETTER(GetErrorLog, char, errors, 1)
GETTER(GetInfoLog, char, infos, 1)
