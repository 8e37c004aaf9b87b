#!/bin/bash
# Proves that Blackwell code still waits for everything that it depends on: random programs, some
# named cases and CUDA C++ programs for sm_100 and sm_120, linked by nvlink, by warpld and by warpld
# with --no-rescoreboard. Every function that is proved gets seeded faults, which must be found.
# Prints functions, pairs, faults and instructions that are not known as its last line.
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

exec "$DIFFERENTIAL" run --toolkit "$cuda" --ptxas12 "$ptxas12" --warpld "$WARPLD" \
    --work "$work" --jobs "${JOBS:-2}" --sm sm_100,sm_120 --seeds 2000..2016 \
    --cases tests/differential/cases --cuda tests/differential/cuda --part 1/6 --targets-each 1 \
    --skip thrust,cub,thrust-cub,thrust-lines,many,everything --hazards --faults 1 \
    --known tests/differential/known-mercury.txt "$@"
