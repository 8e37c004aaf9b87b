#!/bin/bash
# Compares the registers that libwarpld decodes from machine code (mercury::code::registers) with a
# listing by nvdisasm of our own sources in tests/registers, compiled for the Blackwell targets, and of
# further cubins. Prints how many instructions of each operation agree; fails if one is wrong.
#
#   scripts/registers.sh [CUBIN...]
#
# $TOOLKIT names an installed toolkit, $TARGETS the targets (100 103 110 120 121 unless set).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cuda=$(scripts/toolkit.sh)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

compile() { # source, target, further options
    local source=$1 target=$2
    shift 2
    "$cuda/bin/nvcc" -std=c++17 -rdc=true -cubin -w -arch="sm_$target" "$@" \
        -o "$work/$(basename "$source" .cu).$target.cubin" "$source"
}
for target in ${TARGETS:-100 103 110 120 121}; do
    for name in arithmetic scalars memory textures warps tensor; do
        compile tests/registers/$name.cu "$target"
    done
    case $target in
    12?) part=-DSCALED ;;
    *) part=-DFIFTH ;;
    esac
    for name in blackwell forms; do
        compile tests/registers/$name.cu "${target}a" "$part"
    done
done
tests/registers/listing.py "$cuda/bin/nvdisasm" "$work"/*.cubin "$@" >"$work/listing.txt"
status=0
WARPLD_LISTING="$work/listing.txt" cargo test -q -p libwarpld --lib registers_are_those || status=$?
cat "$work/listing.txt.report"
exit $status
