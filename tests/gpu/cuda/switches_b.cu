// Second file of `switches`: an interpreter.
__device__ __noinline__ int interpret(const unsigned char *code, int x) {
    for (;; code++) {
        switch (*code) {
        case 0: return x;
        case 1: x *= 2; break;
        case 2: x += 1; break;
        case 3: x = -x; break;
        case 4: x *= x; break;
        case 5: x ^= 21; break;
        case 6: x /= 2; break;
        case 7: x = __clz(x); break;
        case 8: x += 3; break;
        case 9: x *= 10; break;
        case 10: x = __popc(x); break;
        case 11: x = min(x, 100); break;
        default: return -1;
        }
    }
}
