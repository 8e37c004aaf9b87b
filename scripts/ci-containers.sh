#!/usr/bin/env bash
# Compares `warpld extract` with cuobjdump on containers of every kind the
# toolkit makes, and on shipped libraries. Prints how many files agreed.
#
#   WARPLD_TOOLKIT  folder with bin/nvcc, bin/cuobjdump … (default: scripts/toolkit.sh)
#   WARPLD          the program to test (default: target/release/warpld)
#   WARPLD_WHEELS   where scripts/wheel.sh keeps NVSHMEM and NCCL; "none" leaves
#                   them out.
set -euo pipefail
cd "$(dirname "$0")/.."

toolkit=${WARPLD_TOOLKIT:-$(scripts/toolkit.sh)}
warpld=$(realpath "${WARPLD:-target/release/warpld}")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PATH="$toolkit/bin:$PATH"

containers=0
images=0
failed=0

# Compares the images of one file, in whichever section they are.
compare() {
    local file
    file=$(realpath "$1")
    local scope=${2:-}
    rm -rf "$work/ours" "$work/theirs"
    mkdir "$work/ours" "$work/theirs"
    (cd "$work/theirs" && cuobjdump ${scope:+-all} -xelf all "$file" && cuobjdump ${scope:+-all} -xptx all "$file") \
        >"$work/log" 2>&1 || true
    (cd "$work/ours" && "$warpld" extract ${scope:+--all} --kind elf --kind ptx "$file") >"$work/log" 2>&1 || true
    local count
    count=$(find "$work/theirs" -type f | wc -l)
    if [ "$count" -eq 0 ] || ! diff -r "$work/ours" "$work/theirs" >"$work/diff"; then
        echo "FAIL $1 $scope ($count images)"
        head -5 "$work/diff" 2>/dev/null || true
        failed=$((failed + 1))
        return
    fi
    containers=$((containers + 1))
    images=$((images + count))
}

sources() {
    cat >"$work/a.cu" <<'CU'
__device__ int table[64] = {1, 2, 3};
extern __device__ int twice(int);
__global__ void first(int *p) { *p = twice(*p) + table[threadIdx.x]; }
int main() { first<<<1, 1>>>(nullptr); }
CU
    cat >"$work/b.cu" <<'CU'
__constant__ float scale;
__device__ int twice(int x) { return x * 2; }
__global__ void second(float *p) { *p *= scale; }
CU
}

several=(-gencode arch=compute_75,code=sm_75 -gencode arch=compute_80,code=sm_80
    -gencode arch=compute_86,code=sm_86 -gencode arch=compute_90a,code=sm_90a
    -gencode arch=compute_100f,code=sm_100f -gencode arch=compute_120a,code=sm_120a
    -gencode 'arch=compute_90,code=[sm_90,compute_90]')

# What nvcc makes, under every compression.
compiled() {
    local mode source out
    for mode in none speed size balance default; do
        for source in a b; do
            out=$work/$source.$mode.o
            nvcc -dc "${several[@]}" --compress-mode=$mode "$work/$source.cu" -o "$out"
            compare "$out"
        done
        nvcc -c "${several[@]}" --compress-mode=$mode "$work/b.cu" -o "$work/whole.$mode.o"
        compare "$work/whole.$mode.o"
        nvcc -fatbin -rdc=true "${several[@]}" --compress-mode=$mode "$work/a.cu" -o "$work/a.$mode.fatbin"
        compare "$work/a.$mode.fatbin"
    done
    nvcc -dc -G -arch=sm_90 "$work/a.cu" -o "$work/debug.o"
    compare "$work/debug.o"
    nvcc -dc --no-compress -arch=sm_90 "$work/a.cu" -o "$work/plain.o"
    compare "$work/plain.o"
    nvcc -cubin -rdc=true -arch=sm_90 "$work/a.cu" -o "$work/bare.cubin"
    compare "$work/bare.cubin"
}

# What fatbinary makes.
containers() {
    local option
    nvcc -ptx -rdc=true -arch=sm_90 "$work/a.cu" -o "$work/a.ptx"
    for option in --compress-all --compress=false --compress-mode=size --compress-mode=speed \
        --compress-mode=none --compress-mode=balance --compress-mode=default -c -g --ident=name; do
        fatbinary --create="$work/made.fatbin" $option --cmdline="--compile-only  " \
            --image3="kind=elf,sm=90,file=$work/bare.cubin" --image3="kind=ptx,sm=90,file=$work/a.ptx"
        compare "$work/made.fatbin"
    done
}

# What archivers and the host linker make.
combined() {
    local a=$work/a.default.o b=$work/b.default.o
    nvcc -lib "$a" "$b" -o "$work/liblib.a"
    compare "$work/liblib.a"
    ar rcs "$work/libgnu.a" "$a" "$b"
    compare "$work/libgnu.a"
    cp "$a" "$work/an_object_with_a_name_of_many_letters.o"
    ar rcs "$work/liblong.a" "$work/an_object_with_a_name_of_many_letters.o" "$b"
    compare "$work/liblong.a"
    ld -r "$a" "$b" -o "$work/merged.o"
    compare "$work/merged.o"
    nvcc -dlink -arch=sm_90 "$a" "$b" -o "$work/dlink.o"
    compare "$work/dlink.o"
    ld -r "$a" "$b" "$work/dlink.o" -o "$work/linked.o"
    compare "$work/linked.o"
    compare "$work/linked.o" all
    nvcc -shared -Xcompiler -fPIC -cudart none -arch=sm_90 "$work/b.cu" -o "$work/libb.so"
    compare "$work/libb.so"
}

shipped() {
    compare "$toolkit/lib/libcudadevrt.a"
    if [ "${WARPLD_WHEELS:-}" = none ]; then
        echo "not run: extraction from NVSHMEM and NCCL (WARPLD_WHEELS=none)"
        return
    fi
    compare "$(scripts/wheel.sh nvshmem)/nvidia/nvshmem/lib/libnvshmem_device.a"
    local nccl
    nccl=$(scripts/wheel.sh nccl)/nvidia/nccl/lib/libnccl.so.2
    compare "$nccl"
    compare "$nccl" all
}

sources
compiled
containers
combined
shipped
echo "$images images of $containers containers agree with cuobjdump, $failed containers do not"
[ "$failed" -eq 0 ]
