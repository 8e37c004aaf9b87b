#!/usr/bin/env bash
# What it costs to get the images of one target out of a large container:
# `warpld` against `cuobjdump` and against `cat`, which merely reads the file.
#
#   WARPLD_TOOLKIT  folder with bin/cuobjdump (default: scripts/toolkit.sh)
#   WARPLD          the program (default: target/release/warpld; the example
#                   `select` is expected in examples/ beside it)
#
#   scripts/bench-containers.sh libnccl.so.2 [sm_90]
set -euo pipefail
toolkit=${WARPLD_TOOLKIT:-$("$(dirname "$0")/toolkit.sh")}
warpld=$(realpath "${WARPLD:-target/release/warpld}")
library=${1:?usage: bench-containers.sh FILE [ARCH]}
arch=${2:-sm_90}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The relocatable code of a library is a fatbin of many containers.
objcopy -O binary --only-section=__nv_relfatbin "$library" "$work/x.fatbin"
echo "$(stat -c %s "$work/x.fatbin") bytes of relocatable code, target $arch"
cat "$work/x.fatbin" >/dev/null

measure() {
    local name=$1 best=
    shift
    for _ in 1 2 3; do
        mkdir "$work/out"
        local start end
        start=$(date +%s%N)
        (cd "$work/out" && "$@" >"$work/log" 2>&1) || { cat "$work/log"; exit 1; }
        end=$(date +%s%N)
        local ms=$(((end - start) / 1000000))
        [ -z "$best" ] || [ "$ms" -lt "$best" ] && best=$ms
        files=$(find "$work/out" -type f | wc -l)
        rm -rf "$work/out"
    done
    printf '%-28s %7d ms  %4d files\n' "$name" "$best" "$files"
}

measure "cat" cat "$work/x.fatbin"
measure "warpld: load and select" "$(dirname "$warpld")/examples/select" "$arch" "$work/x.fatbin"
tail -1 "$work/log"
measure "warpld extract" "$warpld" extract --arch "$arch" --kind elf "$work/x.fatbin"
measure "cuobjdump -xelf" "$toolkit/bin/cuobjdump" -arch "$arch" -xelf all "$work/x.fatbin"
