/* Every function of warpld.h, called as C programs call it: in order, out of order, and with NULL.
 * Arguments: saxpy.sm_90.cubin scale.sm_90.cubin */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <warpld.h>

static int failures;
#define CHECK(condition)                                                   \
    do {                                                                   \
        if (!(condition)) {                                                \
            printf("line %d: %s\n", __LINE__, #condition);                 \
            failures++;                                                    \
        }                                                                  \
    } while (0)

static char *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    char *data = malloc(1 << 20);
    *size = file && data ? fread(data, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    return data;
}

static void nothing(void) {
    const char *text = "untouched";
    const void *data;
    size_t size;
    CHECK(warpld_create(NULL) == WARPLD_INVALID_ARGUMENT);
    warpld_destroy(NULL);
    CHECK(strcmp(warpld_error(NULL), "session is NULL") == 0);
    CHECK(warpld_set(NULL, "arch", "sm_90") == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add(NULL, "a", "a", 1) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add_file(NULL, "a") == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_clear(NULL) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_link(NULL) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_cubin(NULL, &data, &size) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_diagnostics(NULL, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_report(NULL, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_map(NULL, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_resources(NULL, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_why_live(NULL, "a", &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_why_dead(NULL, "a", &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_dump(NULL, "a", "a", 1, &text) == WARPLD_INVALID_ARGUMENT);
}

static void wrong_arguments(warpld_session *session) {
    const char *text = "untouched";
    size_t size;
    CHECK(warpld_set(session, NULL, "sm_90") == WARPLD_INVALID_ARGUMENT);
    CHECK(strcmp(warpld_error(session), "name is NULL") == 0);
    CHECK(warpld_set(session, "arch", NULL) == WARPLD_INVALID_VALUE);
    CHECK(warpld_set(session, "arch", "\xff") == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_set(session, "arch", "sm_999") == WARPLD_INVALID_VALUE);
    CHECK(strcmp(warpld_error(session), "arch cannot be 'sm_999'") == 0);
    CHECK(warpld_set(session, "colour", "red") == WARPLD_UNKNOWN_SETTING);
    CHECK(warpld_add(session, NULL, "a", 1) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add(session, "a", NULL, 1) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add(session, "a", "a", (size_t)-1) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add_file(session, NULL) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_add_file(session, "/nonexistent/file") == WARPLD_CANNOT_READ);
    CHECK(warpld_link(session) == WARPLD_NO_TARGET);
    CHECK(warpld_cubin(session, NULL, &size) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_report(session, NULL) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_report(session, &text) == WARPLD_NO_RESULT && text == NULL);
    CHECK(warpld_why_live(session, NULL, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_dump(session, "a", NULL, 1, &text) == WARPLD_INVALID_ARGUMENT);
    CHECK(warpld_dump(session, "a", NULL, 0, &text) == WARPLD_NOT_A_CUBIN);
    CHECK(warpld_dump(session, "a", "text", 4, &text) == WARPLD_NOT_A_CUBIN);
}

static void a_link(warpld_session *session, const char *caller, const char *callee) {
    const char *text, *again;
    const void *data;
    char name[] = "caller";
    size_t size;
    char *bytes = read_file(caller, &size);
    CHECK(warpld_set(session, "arch", "sm_90") == WARPLD_SUCCESS);
    CHECK(warpld_add(session, name, bytes, size) == WARPLD_SUCCESS);
    /* Name and data were copied. */
    memset(name, 'x', 6);
    memset(bytes, 'x', size);
    free(bytes);
    CHECK(warpld_link(session) == WARPLD_LINK_FAILED);
    CHECK(strstr(warpld_error(session), "Undefined reference to '_Z5scalef' in 'caller'") != NULL);
    CHECK(warpld_cubin(session, &data, &size) == WARPLD_NO_RESULT && data == NULL && size == 0);
    CHECK(warpld_diagnostics(session, &text) == WARPLD_SUCCESS);
    CHECK(strstr(text, "\"code\":\"undefined-symbol\"") != NULL);

    CHECK(warpld_add_file(session, callee) == WARPLD_SUCCESS);
    CHECK(warpld_link(session) == WARPLD_SUCCESS);
    CHECK(warpld_cubin(session, &data, &size) == WARPLD_SUCCESS && size > 64 && memcmp(data, "\x7f" "ELF", 4) == 0);
    CHECK(warpld_diagnostics(session, &text) == WARPLD_SUCCESS && strcmp(text, "[]") == 0);
    CHECK(warpld_report(session, &text) == WARPLD_SUCCESS && strstr(text, "\"registers\":24") != NULL);
    CHECK(warpld_map(session, &text) == WARPLD_SUCCESS && strstr(text, ".text._Z5scalef") != NULL);
    CHECK(warpld_resources(session, &text) == WARPLD_SUCCESS && strstr(text, "registers       24") != NULL);
    CHECK(warpld_why_live(session, "scale", &text) == WARPLD_SUCCESS && strstr(text, "is reached from a kernel") != NULL);
    CHECK(warpld_why_live(session, "scale", &again) == WARPLD_SUCCESS && again == text);
    CHECK(warpld_why_dead(session, "nothing", &text) == WARPLD_SUCCESS);
    CHECK(warpld_dump(session, "out", data, size, &text) == WARPLD_SUCCESS && strstr(text, "\"file\":\"out\"") != NULL);
    CHECK(warpld_clear(session) == WARPLD_SUCCESS);
    CHECK(warpld_cubin(session, &data, &size) == WARPLD_NO_RESULT);
}

/* Every prefix of an input is linked or refused. */
static void damaged(warpld_session *session, const char *path) {
    size_t size;
    char *bytes = read_file(path, &size);
    for (size_t length = 0; length < size; length += 1 + length / 16) {
        char *copy = malloc(length ? length : 1);
        const char *text;
        memcpy(copy, bytes, length);
        CHECK(warpld_clear(session) == WARPLD_SUCCESS);
        CHECK(warpld_add(session, "part", copy, length) == WARPLD_SUCCESS);
        free(copy);
        CHECK(warpld_link(session) == WARPLD_LINK_FAILED);
        CHECK(warpld_diagnostics(session, &text) == WARPLD_SUCCESS && text[0] == '[' && text[1] == '{');
    }
    free(bytes);
}

int main(int count, char **arguments) {
    warpld_session *session;
    if (count != 3)
        return 2;
    CHECK(warpld_api_version() == WARPLD_API_VERSION);
    CHECK(warpld_version()[0] >= '0' && warpld_version()[0] <= '9');
    CHECK(strcmp(warpld_result_name(WARPLD_LINK_FAILED), "link failed") == 0);
    CHECK(strcmp(warpld_result_name(1000), "unknown result") == 0);
    nothing();
    CHECK(warpld_create(&session) == WARPLD_SUCCESS && session != NULL);
    CHECK(strcmp(warpld_error(session), "") == 0);
    wrong_arguments(session);
    a_link(session, arguments[1], arguments[2]);
    damaged(session, arguments[1]);
    warpld_destroy(session);
    printf("%d failures\n", failures);
    return failures != 0;
}
