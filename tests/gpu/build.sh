#!/usr/bin/env bash
# Builds the programs of this folder for sm_90 into out/, their device code
# linked by warpld, and compares each linked cubin with nvlink's.
#
#   CUDA_HOME=/path/to/cuda WARPLD=/path/to/warpld tests/gpu/build.sh
#
# out/ then holds all that run.sh needs on a machine with a GPU.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
: "${CUDA_HOME:?set CUDA_HOME to a CUDA toolkit}"
warpld=${WARPLD:-$here/../../target/release/warpld}
jobs=${JOBS:-2}
arch=sm_90
out=${OUT_FOLDER:-$here/out}
work=${WORK:-${TMPDIR:-/tmp}/warpld-gpu-build}
shim=$work/toolkit
mkdir -p "$out/programs" "$out/cubins" "$work/objects"
rm -f "$out/programs"/* "$out/cubins"/*
"$warpld" shim "$CUDA_HOME" "$shim" >/dev/null

# nvlink takes libnvvm from lib64, where pip does not have it for CUDA 13.0.
nvvm=$CUDA_HOME/nvvm
if [ ! -e "$nvvm/lib64/libnvvm.so" ]; then
    nvvm=$work/nvvm
    mkdir -p "$nvvm/lib64"
    ln -sf "$(realpath "$CUDA_HOME")"/lib/libnvvm.so.4 "$nvvm/lib64/libnvvm.so"
fi

# The same command makes and remakes an object only when its sources changed.
compile() { # source, tag, options...
    local source=$here/cuda/$1.cu object=$work/objects/$1$2.o newest
    newest=$(ls -t "$source" "$here"/cuda/*.h "$object" 2>/dev/null | head -1)
    [ "$newest" = "$object" ] && return
    # Options that name a target of their own stand alone.
    local target=-arch=$arch
    case " ${*:3} " in *" -gencode"*) target= ;; esac
    # shellcheck disable=SC2086
    "$CUDA_HOME/bin/nvcc" -dc $target -std=c++17 -w "${@:3}" "$source" -o "$object.part"
    mv "$object.part" "$object"
}

# The device link as nvcc makes it, by one linker into a folder of its own.
device_link() { # folder, linker, inputs and options...
    rm -rf "$1" && mkdir -p "$1"
    (cd "$1" && "$2" -m64 --arch=$arch --register-link-binaries=link.reg.c \
        -L"$CUDA_HOME/lib64" -L"$CUDA_HOME/lib" -cpu-arch=X86_64 "${@:3}" -lcudadevrt \
        -o linked.cubin)
}

different=0
tell_difference() { # name, warpld's file, nvlink's file
    echo "$1: linked; DIFFERENT from nvlink's:"
    "$warpld" diff --limit 12 "$2" "$3" | sed 's/^/    /' || true
    different=$((different + 1))
}

compare() { # name, inputs and options...
    local at=$work/dlink/$1
    device_link "$at/nvlink" "$CUDA_HOME/bin/nvlink" "${@:2}"
    device_link "$at/warpld" "$warpld" "${@:2}" --identity=nvlink --cuda-path="$CUDA_HOME"
    # Two runs of nvlink on the same LTO-IR may differ: it orders equal tables by chance (tables-lto has four
    # outcomes). One of its next runs has to make what warpld made.
    local again=0
    case " $* " in *" -dlto "*) again=12 ;; esac
    while [ $again -gt 0 ] && ! diff -rq "$at/nvlink" "$at/warpld" >/dev/null; do
        device_link "$at/nvlink" "$CUDA_HOME/bin/nvlink" "${@:2}"
        again=$((again - 1))
    done
    if diff -rq "$at/nvlink" "$at/warpld" >/dev/null; then
        echo "$1: linked; same bytes as nvlink's"
    else
        tell_difference "$1" "$at/warpld/linked.cubin" "$at/nvlink/linked.cubin"
    fi
}

# Host programs take nothing from the machine they run on but libc.
host_link() { # name, nvcc arguments...
    "$shim/bin/nvcc" -arch=$arch "${@:2}" -o "$out/programs/$1" \
        -Xcompiler -static-libstdc++,-static-libgcc -Xlinker -s
}

tag_of() { [ -n "$*" ] && printf '.%s' "$(printf %s "$*" | tr -c 'a-zA-Z0-9\n' _)" || true; }

each_program() { # command
    local name sources options library
    while IFS='|' read -r name sources options library; do
        case $name in '#'* | '') continue ;; esac
        read -r name <<<"$name"
        # Options and lists are words on purpose.
        # shellcheck disable=SC2086
        "$1" "$name" "$(echo $sources)" "$(echo $options)" "$(echo $library)"
    done <"$here/programs.txt"
}

list_objects() {
    local source
    for source in $2 $4; do echo "$source|$3"; done
}

build_program() {
    local objects=() members=() source tag
    tag=$(tag_of "$3")
    for source in $2; do objects+=("$work/objects/$source$tag.o"); done
    if [ -n "$4" ]; then
        for source in $4; do members+=("$work/objects/$source$tag.o"); done
        rm -f "$work/lib$1.a"
        "$CUDA_HOME/bin/nvcc" -lib "${members[@]}" -o "$work/lib$1.a"
        objects+=("-L$work" "-l$1")
    fi
    case " $3 " in
    *" -G "*)
        compare "$1" -g "${objects[@]}"
        host_link "$1" -g -G "${objects[@]}"
        ;;
    *" -dlto "*)
        compare "$1" -dlto -nvvmpath="$nvvm" "${objects[@]}"
        host_link "$1" -dlto "${objects[@]}"
        ;;
    *)
        compare "$1" "${objects[@]}"
        host_link "$1" "${objects[@]}"
        ;;
    esac
}

# Two device links in one program, as build systems make them for libraries.
build_two_links() {
    local o=$work/objects
    compare two_links.first "$o/two_links_a.o" "$o/two_links_b.o"
    compare two_links.second "$o/two_links_c.o" "$o/two_links_d.o"
    compare two_links.main "$o/two_links_main.o"
    local pair
    for pair in "first a b" "second c d" "main main"; do
        # shellcheck disable=SC2086
        set -- $pair
        local objects=() part
        for part in "${@:2}"; do objects+=("$o/two_links_$part.o"); done
        "$shim/bin/nvcc" -dlink -arch=$arch "${objects[@]}" -o "$work/two_links.$1.o"
    done
    g++ "$o"/two_links_{main,a,b,c,d}.o "$work"/two_links.{first,second,main}.o \
        -L"$CUDA_HOME/lib64" -L"$CUDA_HOME/lib" -lcudadevrt -lcudart_static -lrt -lpthread -ldl \
        -static-libstdc++ -static-libgcc -s -o "$out/programs/two_links"
}

compile_line() {
    local options=${1#*|}
    # shellcheck disable=SC2086
    compile "${1%%|*}" "$(tag_of "$options")" $options
}

echo "compiling"
export -f compile compile_line tag_of
export here work arch CUDA_HOME
{ each_program list_objects; printf 'two_links_%s|\n' main a b c d; } | sort -u |
    xargs -P "$jobs" -d '\n' -I{} bash -euc 'compile_line "$1"' - {}
each_program build_program
build_two_links
. "$here/ptx/build.sh"

du -sh "$out" | cut -f1 | sed 's/^/out\/ takes /'
if [ "$different" -gt 0 ]; then
    echo "$different linked cubins differ from nvlink's"
    exit 1
fi
