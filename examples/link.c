/* Links device code in memory and says what came of it, through warpld.h:
 *
 *     cc link.c $(pkg-config --cflags --libs warpld) -o link
 *     ./link sm_90 out.cubin saxpy.sm_90.cubin scale.sm_90.cubin
 */
#include <stdio.h>
#include <warpld.h>

static int write_file(const char *path, const void *data, size_t size) {
    FILE *file = fopen(path, "wb");
    int good = file && fwrite(data, 1, size, file) == size;
    if (file && fclose(file) != 0)
        good = 0;
    return good;
}

int main(int count, char **arguments) {
    warpld_session *session = NULL;
    const char *text = NULL;
    const void *cubin = NULL;
    size_t size = 0;
    int good;

    if (count < 4) {
        fprintf(stderr, "usage: %s TARGET OUTPUT INPUT...\n", arguments[0]);
        return 2;
    }
    good = warpld_create(&session) == WARPLD_SUCCESS && warpld_set(session, "arch", arguments[1]) == WARPLD_SUCCESS;
    for (int i = 3; good && i < count; i++)
        good = warpld_add_file(session, arguments[i]) == WARPLD_SUCCESS;
    good = good && warpld_link(session) == WARPLD_SUCCESS;
    if (!good) {
        fprintf(stderr, "%s\n", warpld_error(session));
        /* The same and more, for programs: code, symbol, notes. */
        if (warpld_diagnostics(session, &text) == WARPLD_SUCCESS)
            fprintf(stderr, "%s\n", text);
    } else {
        if (warpld_resources(session, &text) == WARPLD_SUCCESS)
            fputs(text, stdout);
        good = warpld_cubin(session, &cubin, &size) == WARPLD_SUCCESS && write_file(arguments[2], cubin, size);
        if (!good)
            fprintf(stderr, "cannot write %s\n", arguments[2]);
    }
    warpld_destroy(session);
    return good ? 0 : 1;
}
