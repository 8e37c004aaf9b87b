// Tables of function and data addresses, filled in by the linker.
#define PROGRAM_MAIN
#include "check.h"
#include "tables.h"
const char *program = "tables";

__global__ void through_tables(int *out, int a, int b) {
    int i = threadIdx.x;
    out[i] = ops[i](a, b);
    out[4 + i] = constant_ops[i](a, b);
    if (i < 2) out[8 + i] = *where[i];
    if (i < 2) {
        out[10 + i] = rows[i].op(*rows[i].data, 2);
        out[12 + i] = rows[i].name[0] * 1000 + rows[i].name[1];
    }
}

__device__ Op chosen;
__global__ void choose(int which) { chosen = which ? op_mul : op_pick; }
__global__ void use_chosen(int *out) { *out = chosen(21, 2); }

__global__ void take_pointer(Op op, int *out) { *out = op(100, 1); }

void check() {
    Buffer<int> out(14), one(1);
    through_tables<<<1, 4>>>(out, 12, 5);
    RAN();
    auto got = out.get();
    const int want[] = {17, 7, 60, 12, 12, 60, 7, 17, 111, 222, 113, 444,
                        'o' * 1000 + 'n', 't' * 1000 + 'w'};
    for (int i = 0; i < 14; i++) EXPECT_AT("through_tables", i, got[i], want[i]);
    for (int which = 0; which < 2; which++) {
        choose<<<1, 1>>>(which);
        use_chosen<<<1, 1>>>(one);
        RAN();
        EXPECT_AT("chosen", which, one.get()[0], which ? 42 : 21);
    }
    Op host_copy[4];
    OK(cudaMemcpyFromSymbol(host_copy, ops, sizeof host_copy));
    const int taken[] = {101, 99, 100, 100};
    for (int i = 0; i < 4; i++) {
        take_pointer<<<1, 1>>>(host_copy[i], one);
        RAN();
        EXPECT_AT("take_pointer", i, one.get()[0], taken[i]);
    }
}
