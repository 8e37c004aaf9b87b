#!/bin/bash
# Proves that the proof of waits finds faults: functions of random programs, named cases, CUDA C++ programs and
# of tests/differential/kernels, linked by nvlink, by warpld and by warpld with --no-rescoreboard, get seeded
# faults until there are FAULTS of every kind (1,000 unless set; TOO FEW where the code has fewer places), all
# of which must be found. (The links of ci-mercury.sh are proved there, without faults.) Prints the kinds
# with their counts, and functions, pairs, faults and instructions that are not known as the last line.
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

# The kernels have the instructions of Blackwell; their copies come in groups, for the kind "group not counted".
exec "$DIFFERENTIAL" run --toolkit "$cuda" --ptxas12 "$ptxas12" --warpld "$WARPLD" --work "$work" \
    --jobs "${JOBS:-2}" --targets-each 1 --with-toolkit --hazards --kept --faults "${FAULTS:-1000}" \
    --known tests/differential/known-mercury.txt --sm sm_100a,sm_103,sm_120a,sm_121 --seeds 2000..2100 \
    --cases tests/differential/cases --cuda tests/differential/kernels "$@"
