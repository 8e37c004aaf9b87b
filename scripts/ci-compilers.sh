#!/bin/bash
# Links PTX and LTO-IR with nvlink and with warpld, which runs the compilers of the same toolkit, and
# compares the files byte for byte, for CUDA 13.0 and the newest release:
#
#   ptx     random programs, named cases and CUDA C++ programs as PTX: bare, in fatbins, host objects,
#           archives and libraries; alone, with machine code, for older targets, with the options of
#           nvlink that reach ptxas
#   lto     random and other CUDA C++ programs as LTO-IR: whole, in part, out of archives, with the device
#           runtime and with the options that reach libnvvm and ptxas
#   cases   named cases about both (tests/differential/compiled)
#
#   scripts/ci-compilers.sh [ptx|lto|cases ...]     all of them unless told
#
# Prints the tables of verdicts; fails unless everything agrees but what known-compilers.txt lists.
#
# $RELEASES names the releases ("13.0 13.4" unless set), $TOOLKIT a folder of installed toolkits, $WARPLD
# a linker to test, $DIFFERENTIAL the program of these tests, $JOBS the number of threads, $WORK the
# folder for objects and failed cases.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
work=${WORK:-target/differential}
tests=tests/differential
if [ -z "${DIFFERENTIAL:-}" ]; then
    cargo build --release -q -p differential
    DIFFERENTIAL=$target/release/differential
fi
if [ -z "${WARPLD:-}" ]; then
    cargo build --release -q -p warpld
    WARPLD=$target/release/warpld
fi
targets=sm_75,sm_86,sm_90,sm_90a,sm_100,sm_120
# They take minutes to compile, or a second for each link.
slow=thrust,cub,thrust-cub,thrust-lines,everything,many
mkdir -p "$work"
totals=$work/compilers.txt
: >"$totals"
# Links that differ and are not known, in the form of the known list.
news=$work/compilers-new.txt
: >"$news"
failed=0

run() { # kind of inputs, what, options
    local kind=$1 what=$2 log=$work/compilers.log
    shift 2
    echo "=== $kind: $what of $release"
    "$DIFFERENTIAL" run --inputs "$kind" --toolkit "$(scripts/toolkit.sh "$release")" --warpld "$WARPLD" --work "$work" \
        --jobs "${JOBS:-2}" --sm $targets --known $tests/known-compilers.txt --list-new "$work/new" "$@" >"$log" 2>&1 ||
        failed=$((failed + 1))
    grep . "$work/new" >>"$news" || true
    grep -vE '^$|^\|| of [0-9]+ cases, ' "$log" || true
    sed -n "s/^.* cases, \([0-9]*\) links, \([0-9]*\) disagree (\([0-9]*\) of.*/$kind \1 \2 \3/p" "$log" >>"$totals"
}

ptx() {
    run ptx 'random programs' --seeds 0..100
    run ptx 'named cases' --cases $tests/cases --targets-each 1 --part 1/3
    run ptx 'CUDA C++ programs' --cuda $tests/cuda --skip $slow --targets-each 1 --part 2/4
}
lto() {
    run lto 'random programs' --seeds 0..10 --links 13 --targets-each 2
    run lto 'CUDA C++ programs' --cuda $tests/cuda --skip $slow --links 6 --targets-each 1 --part 1/2
}
cases() { run ptx 'cases of their own' --cases $tests/compiled; }

parts=("$@")
[ $# -gt 0 ] || parts=(ptx lto cases)
for release in ${RELEASES:-13.0 13.4}; do
    for part in "${parts[@]}"; do
        case $part in
        ptx | lto | cases) "$part" ;;
        *) echo "usage: $0 [ptx|lto|cases ...]" >&2; exit 2 ;;
        esac
    done
done

awk '{ links[$1] += $2; differ += $3; known += $4 } END {
    printf "%d links of PTX, %d links of LTO-IR, %d differ (%d of them known)\n", links["ptx"], links["lto"], differ, known
}' "$totals"
[ "$failed" -eq 0 ]
