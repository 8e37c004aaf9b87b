// Two device links in one program, each with a kernel of the same name.
#define PROGRAM_MAIN
#include "check.h"
const char *program = "two_links";

int ask_first(int x);
int ask_second(int x);

void check() {
    EXPECT(ask_first(10), 10 + 1);
    EXPECT(ask_second(10), 10 * 2);
    EXPECT(ask_first(20), 20 + 1 + 1);
    EXPECT(ask_second(20), 20 * 2);
}
