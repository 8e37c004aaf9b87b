#pragma once
typedef int (*Op)(int, int);
__device__ int op_add(int a, int b);
__device__ int op_sub(int a, int b);
__device__ int op_mul(int a, int b);
__device__ int op_pick(int a, int b);
extern __device__ Op ops[];
extern __constant__ Op constant_ops[];
extern __device__ int first, second;
extern __device__ int *const where[];
struct Row { const char *name; Op op; int *data; };
extern __device__ Row rows[];
