// Second file of `tables`: the tables, whose entries are defined in the third.
#include "tables.h"
__device__ Op ops[] = {op_add, op_sub, op_mul, op_pick};
__constant__ Op constant_ops[] = {op_pick, op_mul, op_sub, op_add};
__device__ int *const where[] = {&first, &second};
__device__ const char name_one[] = "one", name_two[] = "two";
__device__ Row rows[] = {{name_one, op_add, &first}, {name_two, op_mul, &second}};
