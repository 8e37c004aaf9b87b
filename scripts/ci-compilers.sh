#!/bin/bash
# Links PTX and LTO-IR with nvlink and with warpld, which runs the compilers of the same toolkit, and
# compares the files byte for byte, for CUDA 13.0 and the newest release:
#
#   ptx     random programs, named cases and CUDA C++ programs as PTX: bare, in fatbins, host objects,
#           archives and libraries; alone, with machine code, for older targets, with the options of
#           nvlink that reach ptxas
#   lto     random and other CUDA C++ programs as LTO-IR: whole, in part, out of archives, with the device
#           runtime and with the options that reach libnvvm and ptxas
#   jit     some of the same LTO-IR with a toolkit that has no nvlink: libnvJitLink makes PTX of it
#   cases   named cases about both (tests/differential/compiled)
#
#   scripts/ci-compilers.sh [ptx|lto|jit|cases ...]     all of them unless told
#
# nvlink orders equal data in LTO-IR by chance. A link that differs is made again by both linkers, and
# agrees if any of their files are equal.
#
# Prints the tables of verdicts; fails unless everything agrees but what known-compilers.txt lists.
#
# $RELEASES names the releases ("13.0 13.4" unless set), $TOOLKIT a folder of installed toolkits, $WARPLD
# a linker to test (for jit with warpld-nvjitlink beside it), $DIFFERENTIAL the program of these tests, $JOBS
# the number of threads, $WORK the folder for objects and failed cases.
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
    cargo build --release -q -p warpld -p warpld-nvjitlink
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
    local kind=$1 what=$2 log=$work/compilers.log start=$SECONDS
    shift 2
    echo "=== $kind: $what of $release"
    "$DIFFERENTIAL" run --inputs "$kind" --toolkit "$(scripts/toolkit.sh "$release")" --warpld "$WARPLD" --work "$work" \
        --jobs "${JOBS:-2}" --sm $targets --known $tests/known-compilers.txt --list-new "$work/new" "$@" >"$log" 2>&1 ||
        failed=$((failed + 1))
    grep . "$work/new" >>"$news" || true
    grep -vE '^$|^\|| of [0-9]+ cases, ' "$log" || true
    sed -n "s/^.* cases, \([0-9]*\) links, \([0-9]*\) disagree (\([0-9]*\) of them known), \([0-9]*\) differ.*/$kind \1 \2 \3 \4/p" \
        "$log" >>"$totals"
    echo "took $((SECONDS - start)) s"
}

# Containers, options and targets come in turn in random programs: these have each several times.
ptx() {
    run ptx 'random programs' --seeds 0..72
    run ptx 'named cases' --cases $tests/cases --targets-each 1 --part 1/5
    run ptx 'CUDA C++ programs' --cuda $tests/cuda --skip $slow --targets-each 1 --part 3/11
}
# So do the rows of lto.rs: each is linked four times or more.
lto() {
    run lto 'random programs' --seeds 0..7 --links 15 --targets-each 2
    run lto 'CUDA C++ programs' --cuda $tests/cuda --skip $slow --links 9 --targets-each 1 --part 1/4
}
jit() { run lto 'random programs without nvlink' --without-nvlink --seeds 0..6 --links 13 --targets-each 1; }
cases() { run ptx 'cases of their own' --cases $tests/compiled; }

parts=("$@")
[ $# -gt 0 ] || parts=(ptx lto jit cases)
for release in ${RELEASES:-13.0 13.4}; do
    for part in "${parts[@]}"; do
        case $part in
        ptx | lto | jit | cases) "$part" ;;
        *) echo "usage: $0 [ptx|lto|jit|cases ...]" >&2; exit 2 ;;
        esac
    done
done

awk '{ links[$1] += $2; differ += $3; known += $4; varies += $5 } END {
    printf "%d links of PTX, %d links of LTO-IR, %d differ (%d of them known), %d differ from run to run of nvlink\n",
        links["ptx"], links["lto"], differ, known, varies
}' "$totals"
[ "$failed" -eq 0 ]
