#!/bin/bash
# Builds the program of ../make with Debian's clang 19 and CUDA 13, its device
# code linked by warpld.
#
#   CUDA_HOME=/usr/local/cuda build.sh SHIM WORK
#
# SHIM is a toolkit made by `warpld shim`; objects and program go to WORK.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
shim=$1 work=$2
export CUDA_HOME
mkdir -p "$work/include"

# clang 19 knows CUDA up to 12.5. What it misses in CUDA 13 are two headers, of
# which nothing is used here, and an option of fatbinary.
touch "$work/include/texture_fetch_functions.h"
[ -e "$shim/include/curand_mtgp32_kernel.h" ] || touch "$work/include/curand_mtgp32_kernel.h"
ln -sf "$here/fatbinary" "$shim/bin/fatbinary"

clang=(clang++-19 --cuda-path="$shim" -Wno-unknown-cuda-version -I"$work/include" -fgpu-rdc
    --offload-arch=sm_80,sm_90)
libraries=(-L"$shim/lib64" -lcudart_static -lrt -lpthread -ldl)

# The new driver: clang-linker-wrapper looks into the objects, and runs nvlink
# from the toolkit that it is told.
for file in main scale; do
    "${clang[@]}" --offload-new-driver -c "$here/../make/$file.cu" -o "$work/$file.o"
done
"${clang[@]}" --offload-link "$work/main.o" "$work/scale.o" -o "$work/program" \
    -Xlinker --cuda-path="$shim" "${libraries[@]}"

# The old driver: objects like nvcc's. clang does not link their device code;
# `warpld` does, into a cubin to load.
for file in main scale; do
    "${clang[@]}" --no-offload-new-driver -c "$here/../make/$file.cu" -o "$work/$file.old.o"
done
"$shim/bin/nvlink" -arch=sm_90 "$work/main.old.o" "$work/scale.old.o" -o "$work/program.cubin"
