#!/bin/bash
# Builds programs with warpld as the linker of a CUDA toolkit, the way the guide says, into host
# executables for several targets: by nvcc, make, CMake and clang; with a device library, with
# launches from the device, with thrust, of LTO-IR and of PTX. Each is started: without a GPU it must get as far as that.
#
#   CUDA_HOME=/path/to/cuda WARPLD=/path/to/warpld scripts/ci-builds.sh [nvcc make cmake ...]
#
# Needs make and gcc. CMake, Ninja and clang come from scripts/build-tools.sh. Prints a line
# "not run: ..." for what could not be tried, and the list of what was built.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$here/scripts/bring.sh"
cuda=${CUDA_HOME:-$("$here/scripts/toolkit.sh")}
warpld=${WARPLD:-$here/target/release/warpld}
work=${WORK:-$(mktemp -d)}
shim=$work/cuda
gpu=$here/tests/gpu/cuda
nvcc=$shim/bin/nvcc
two_targets=(-gencode arch=compute_80,code=sm_80 -gencode arch=compute_90,code=sm_90)
built=()
without_gpu=0
mkdir -p "$work"
# They would choose other compilers, options or generators.
unset CC CXX CFLAGS CXXFLAGS CPPFLAGS LDFLAGS CUDACXX CUDAFLAGS CUDAARCHS CUDAHOSTCXX CUDAToolkit_ROOT \
    CUDA_PATH NVCC_CCBIN NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS "${!CMAKE_@}"

# Whichever linker ran is named in the tool note of every linked image.
linked_by_warpld() { # program, images
    local found
    found=$(grep -ao 'Build warpld_' "$1" | wc -l)
    if [ "$found" -ne "$2" ]; then
        echo "$1: $found images linked by warpld, not $2" >&2
        exit 1
    fi
    echo "$1: $2 images linked by warpld"
}

# It starts, registers its device code and looks for a device: 0 right, 2 or 77 no device.
starts() { # program
    local status=0
    "$1" >"$1.out" 2>&1 || status=$?
    case $status in
    0) ;;
    2 | 77) without_gpu=$((without_gpu + 1)) ;;
    *)
        cat "$1.out" >&2
        echo "$1: exit status $status" >&2
        exit 1
        ;;
    esac
    built+=("${1#"$work/"}")
}

# A whole program of LTO-IR is what ptxas writes, in which no linker has a note: that the shim's linker
# did it is sure because it may not hand the link over.
no_fallback=-Xnvlink=--no-fallback

# It has machine code for the target, and nothing that is to be compiled when it starts.
has_only_code() { # program, target, images
    local codes others
    codes=$("$warpld" extract -l -k elf -a "$2" "$1" | grep -c "$2" || true)
    others=$("$warpld" extract -l -k ptx -k ltoir "$1" 2>/dev/null | grep -cE 'ptx|ltoir' || true)
    if [ "$codes" -ne "$3" ] || [ "$others" -ne 0 ]; then
        "$warpld" extract -l "$1" >&2
        echo "$1: $codes images for $2 and $others to compile, not $3 and 0" >&2
        exit 1
    fi
    echo "$1: $3 images for $2"
    starts "$1"
}

check() { # program, images
    linked_by_warpld "$1" "$2"
    starts "$1"
}

build_nvcc() {
    mkdir -p "$work/nvcc"
    "$nvcc" -rdc=true "${two_targets[@]}" -gencode arch=compute_100,code=sm_100 -t 2 \
        "$here"/tests/builds/make/{main,scale}.cu -o "$work/nvcc/program"
    check "$work/nvcc/program" 3
}

build_make() {
    rm -rf "$work/make"
    cp -r "$here/tests/builds/make" "$work/make"
    make -s -C "$work/make" CUDA="$shim"
    check "$work/make/program" 2
}

# A static device library, linked by the program and by itself.
with_cmake() { # folder, generator
    rm -rf "${work:?}/$1"
    cmake -S "$here/tests/builds/cmake" -B "$work/$1" -G "$2" -DCMAKE_CUDA_COMPILER="$nvcc" >"$work/$1.log"
    cmake --build "$work/$1" >>"$work/$1.log"
    check "$work/$1/program" 2
    check "$work/$1/program_resolved" 2
}

build_cmake() { with_cmake cmake 'Unix Makefiles'; }

build_ninja() { with_cmake ninja Ninja; }

# The rule of the guide: ninja links once, then has nothing to do, and links again for a library that no build
# statement names.
build_depfile() {
    local at=$work/depfile
    rm -rf "$at"
    mkdir -p "$at/lib"
    cp "$here/examples/saxpy.sm_90.cubin" "$at/main.o"
    (cd "$at/lib" && ar rcs libhelpers.a "$here/examples/scale.sm_90.cubin")
    sed -n '/^```ninja$/,/^```$/{/^```/d;p}' "$here/docs/guide/build-systems.md" >"$at/build.ninja"
    sed -i "s|= warpld|= $(realpath "$warpld")|; s| main.o scale.o| main.o|" "$at/build.ninja"
    ninja -C "$at" | grep DEVLINK >/dev/null
    ninja -C "$at" | grep 'no work to do' >/dev/null
    sleep 1
    touch "$at/lib/libhelpers.a"
    ninja -C "$at" | grep DEVLINK >/dev/null
    echo "$at: ninja follows the dependency file"
}

# Kernels that launch kernels: the link takes libcudadevrt.
build_child() {
    mkdir -p "$work/child"
    "$nvcc" -rdc=true -std=c++17 "${two_targets[@]}" "$gpu"/child_{main,b}.cu -lcudadevrt \
        -o "$work/child/program"
    check "$work/child/program" 2
}

build_thrust() {
    mkdir -p "$work/thrust"
    "$nvcc" -rdc=true -std=c++17 -w -arch=sm_90 "$gpu"/thrust_{main,b}.cu -o "$work/thrust/program"
    check "$work/thrust/program" 1
}

# LTO-IR: of all inputs, with launches from kernels, and beside a library of machine code.
build_lto() {
    local make=$here/tests/builds/make at=$work/lto
    mkdir -p "$at"
    "$nvcc" -dlto -rdc=true -arch=sm_90 $no_fallback "$make"/{main,scale}.cu -o "$at/program"
    has_only_code "$at/program" sm_90 1
    "$nvcc" -dlto -rdc=true -std=c++17 -arch=sm_90 $no_fallback "$gpu"/child_{main,b}.cu -lcudadevrt -o "$at/child"
    has_only_code "$at/child" sm_90 1
    "$nvcc" -dc -arch=sm_90 "$make/scale.cu" -o "$at/scale.o"
    "$nvcc" -dc -dlto -arch=sm_90 "$make/main.cu" -o "$at/main.o"
    rm -f "$at/libscale.a"
    "$nvcc" -lib "$at/scale.o" -o "$at/libscale.a"
    "$nvcc" -dlto -arch=sm_90 $no_fallback "$at/main.o" -L"$at" -lscale -o "$at/partial"
    linked_by_warpld "$at/partial" 1
    has_only_code "$at/partial" sm_90 1
}

# The same from CMake, whose option for it is INTERPROCEDURAL_OPTIMIZATION.
build_cmake_lto() {
    local folder=$work/cmake-lto program
    rm -rf "$folder"
    cmake -S "$here/tests/builds/cmake" -B "$folder" -G Ninja -DCMAKE_CUDA_COMPILER="$nvcc" \
        -DCMAKE_CUDA_ARCHITECTURES=90-real -DCMAKE_INTERPROCEDURAL_OPTIMIZATION=ON \
        -DCMAKE_CUDA_FLAGS=$no_fallback >"$folder.log"
    cmake --build "$folder" -v >>"$folder.log"
    grep -q 'lto_90' "$folder.log" || { echo "CMake made no LTO-IR: $folder.log" >&2; exit 1; }
    for program in program program_resolved; do
        has_only_code "$folder/$program" sm_90 1
    done
}

# Objects that hold nothing but PTX, bare and in a library.
build_ptx() {
    local make=$here/tests/builds/make at=$work/ptx source
    mkdir -p "$at"
    for source in main scale; do
        "$nvcc" -dc -gencode arch=compute_90,code=compute_90 "$make/$source.cu" -o "$at/$source.o"
    done
    "$nvcc" -arch=sm_90 $no_fallback "$at"/{main,scale}.o -o "$at/program"
    linked_by_warpld "$at/program" 1
    has_only_code "$at/program" sm_90 1
    rm -f "$at/libscale.a"
    "$nvcc" -lib "$at/scale.o" -o "$at/libscale.a"
    "$nvcc" -arch=sm_90 $no_fallback "$at/main.o" -L"$at" -lscale -o "$at/library"
    linked_by_warpld "$at/library" 1
    has_only_code "$at/library" sm_90 1
}

build_clang() {
    bring clang 'build by clang' || return 0
    "$warpld" shim "$cuda" "$work/cuda-clang"
    CUDA_HOME=$cuda "$here/tests/builds/clang/build.sh" "$work/cuda-clang" "$work/clang"
    check "$work/clang/program" 2
    linked_by_warpld "$work/clang/program.cubin" 1
}

# CMake compiles by clang and links device code itself. It compresses images.
build_clang_cmake() {
    bring clang 'build by CMake with clang' || return 0
    local program folder=$work/clang-cmake
    "$warpld" shim "$cuda" "$work/cuda-clang"
    rm -rf "$folder"
    mkdir -p "$folder/include"
    touch "$folder/include/"{texture_fetch_functions,curand_mtgp32_kernel}.h
    ln -sf "$here/tests/builds/clang/fatbinary" "$work/cuda-clang/bin/fatbinary"
    # For the wrapper of fatbinary, which CMake runs while it configures, too.
    export CUDA_HOME=$cuda
    cmake -S "$here/tests/builds/cmake" -B "$folder/build" -G Ninja -DCMAKE_CUDA_COMPILER=clang++-19 \
        -DCUDAToolkit_ROOT="$work/cuda-clang" -DCMAKE_CUDA_FLAGS="--cuda-path=$work/cuda-clang \
        -I$folder/include -Wno-unknown-cuda-version" >"$folder/log"
    cmake --build "$folder/build" >>"$folder/log"
    for program in program program_resolved; do
        mkdir "$folder/$program"
        "$warpld" extract -d "$folder/$program" "$folder/build/$program" >/dev/null
        cat "$folder/$program"/*.cubin >"$folder/$program.images"
        linked_by_warpld "$folder/$program.images" 2
        starts "$folder/build/$program"
    done
}

bring cmake 'builds of any kind'
echo "$(cmake --version | head -1), ninja $(ninja --version)"
"$warpld" shim "$cuda" "$shim"
wanted=("$@")
[ $# -gt 0 ] || wanted=(nvcc make cmake ninja depfile child thrust lto cmake_lto ptx clang clang_cmake)
for build in "${wanted[@]}"; do
    "build_$build"
done
[ "$without_gpu" -eq 0 ] || echo "not run: kernels of $without_gpu programs that were built (no GPU)"
[ "${#built[@]}" -eq 0 ] || printf 'built and started: %s\n' "${built[@]}"
echo "${#built[@]} programs built and started"
