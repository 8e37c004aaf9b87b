#!/bin/bash
# Proves that Blackwell code still waits for everything that it depends on: random programs, some
# named cases and CUDA C++ programs for sm_100 and sm_120, then all of tests/differential/kernels for
# sm_100a or sm_120a, linked by nvlink, by warpld and by warpld with --no-rescoreboard. Every function
# that is proved gets seeded faults, which must be found. Prints functions, pairs, faults and
# instructions that are not known as the last line of either part.
#
#   scripts/ci-hazards.sh [options of `differential run`]
#
# $RELEASE names the release of the toolkit (13.0 unless set), $TOOLKIT the folder of an installed one,
# $WARPLD a linker to test, $DIFFERENTIAL the program of these tests, $JOBS the number of threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh
cuda=$(scripts/toolkit.sh "${RELEASE:-13.0}")
ptxas12=$(scripts/toolkit.sh ptxas12)

prove() {
    "$DIFFERENTIAL" run --toolkit "$cuda" --ptxas12 "$ptxas12" --warpld "$WARPLD" --work "$work" \
        --jobs "${JOBS:-2}" --targets-each 1 --hazards --faults 1 \
        --known tests/differential/known-mercury.txt "$@"
}

failed=0
prove --sm sm_100,sm_120 --seeds 2000..2016 --cases tests/differential/cases \
    --cuda tests/differential/cuda --part 1/6 \
    --skip thrust,cub,thrust-cub,thrust-lines,many,everything "$@" || failed=1
# Kernels with the instructions of Blackwell.
prove --sm sm_100a,sm_120a --seeds 0..0 --cuda tests/differential/kernels --label plain "$@" || failed=1
exit "$failed"
