#!/bin/bash
# Links the fixed set of programs with nvlink and with warpld and compares the files byte for byte:
# random programs, CUDA C++ programs, named cases and (unless LIBRARIES=no) the device link of NCCL
# and a program that uses NVSHMEM.
# Prints the table of verdicts per target; fails unless everything agrees but what known.txt lists.
# A named case or CUDA C++ program runs on three of its targets; which ones, changes with the release.
#
#   scripts/ci-differential.sh [options of `differential run`]
#
# $RELEASE names the release of the toolkit (13.0 unless set), $TOOLKIT the folder of an installed one,
# $WARPLD a linker to test, $DIFFERENTIAL the program of these tests, $JOBS the number of threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh
cuda=$(scripts/toolkit.sh "${RELEASE:-13.0}")
ptxas12=$(scripts/toolkit.sh ptxas12)
ptxas120=$(scripts/toolkit.sh ptxas120)

libraries=()
if [ "${LIBRARIES:-yes}" != no ]; then
    libraries=(--nccl "$(scripts/wheel.sh nccl)/nvidia/nccl/lib/libnccl.so.2"
        --nvshmem "$(scripts/wheel.sh nvshmem)/nvidia/nvshmem")
else
    echo "not run: links of NCCL and NVSHMEM (LIBRARIES=no)"
fi

exec "$DIFFERENTIAL" run --toolkit "$cuda" --ptxas12 "$ptxas12" --ptxas120 "$ptxas120" \
    --warpld "$WARPLD" --work "$work" --jobs "${JOBS:-2}" --sm classic --seeds 0..800 --targets-each 3 \
    --cases tests/differential/cases --cuda tests/differential/cuda --known tests/differential/known.txt "${libraries[@]}" "$@"
