// malloc, new, printf, assert.
#include <cassert>
#include <cstdio>
#include <new>
struct Node {
    Node *next;
    int v;
};
__device__ Node *head;
__device__ __noinline__ Node *push(int v) {
    Node *n = new Node{head, v};
    assert(n != nullptr);
    return head = n;
}
__global__ void lists(int *o, int n) {
    for (int i = 0; i < n; i++)
        push(i);
    int s = 0;
    while (head) {
        Node *n = head;
        head = n->next;
        s += n->v;
        delete n;
    }
    o[0] = s;
    printf("sum %d %s\n", s, "x");
}
__global__ void raw(char **o) {
    *o = (char *)malloc(threadIdx.x + 10);
    memset(*o, 3, 10);
    free(*o);
    if (threadIdx.x > 100)
        __trap();
}
__global__ void placed(int *o) {
    alignas(8) char b[sizeof(Node)];
    auto *n = new (b) Node{nullptr, o[1]};
    o[0] = n->v;
    char *x = new char[o[2]];
    x[0] = 1;
    o[3] = x[o[1]];
    delete[] x;
}
void go(int *o) {
    lists<<<1, 1>>>(o, 2);
    placed<<<1, 1>>>(o);
}
