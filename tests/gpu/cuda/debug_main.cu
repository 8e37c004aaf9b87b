// A build for the debugger (-G): no optimisation, all of DWARF.
#define PROGRAM_MAIN
#include "check.h"
#include "debug.h"
const char *program = "debug";

__global__ void walk(const Node *nodes, int count, int *out) {
    int i = threadIdx.x;
    Sum<int> sum;
    for (int at = i; at >= 0; at = nodes[at].next) sum.add(value_of(nodes[at]));
    out[i] = sum.total;
}

void check() {
    const int n = 40;
    std::vector<Node> list(n);
    for (int i = 0; i < n; i++) list[i] = Node{i - 3, float(i)};
    for (int i = 0; i < 3; i++) list[i].next = -1;
    Buffer<Node> nodes(list);
    Buffer<int> out(n);
    walk<<<1, n>>>(nodes, n, out);
    RAN();
    auto got = out.get();
    int visits = 0;
    for (int i = 0; i < n; i++) {
        int want = 0;
        for (int at = i; at >= 0; at -= 3, visits++) want += 2 * at;
        EXPECT_AT("walk", i, got[i], want);
    }
    int counted = 0;
    OK(cudaMemcpyFromSymbol(&counted, calls, sizeof counted));
    EXPECT(counted, visits);
}
