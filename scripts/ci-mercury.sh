#!/bin/bash
# Links for Blackwell (sm_100 to sm_121) with nvlink and with warpld, compared part by part: random
# programs, named cases, CUDA C++ programs, the objects of every such target for every other, and
# (unless LIBRARIES=no) a program that uses NVSHMEM.
# Fails unless everything agrees but what known-mercury.txt lists; control bits of kernels without
# calls, which nvlink allocates anew, may differ. Prints the share of those kernels whose code is equal.
# The code of both linkers is proved to wait for everything that it depends on (links with NVIDIA's
# libraries are left out).
#
#   scripts/ci-mercury.sh [options of `differential run`]
#
# $RELEASE names the release of the toolkit (13.0 unless set), $TOOLKIT the folder of an installed one,
# $WARPLD a linker to test, $DIFFERENTIAL the program of these tests, $JOBS the number of threads,
# $NCCL_LIBRARY a libnccl.so.2 whose device link is to be made for sm_100 and sm_120 as well.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh
cuda=$(scripts/toolkit.sh "${RELEASE:-13.0}")
ptxas12=$(scripts/toolkit.sh ptxas12)

libraries=()
if [ "${LIBRARIES:-yes}" != no ]; then
    libraries=(--nvshmem "$(scripts/wheel.sh nvshmem)/nvidia/nvshmem")
else
    echo "not run: links of NVSHMEM (LIBRARIES=no)"
fi

[ -n "${NCCL_LIBRARY:-}" ] || echo "not run: links of NCCL for sm_100 and sm_120 (NCCL_LIBRARY is not set)"

# Thrust and CUB take minutes to compile and are in the other set.
exec "$DIFFERENTIAL" run --toolkit "$cuda" --ptxas12 "$ptxas12" --warpld "$WARPLD" \
    --work "$work" --jobs "${JOBS:-2}" --sm mercury --seeds 1000..1100 \
    --cases tests/differential/cases --cuda tests/differential/cuda \
    --skip thrust,cub,thrust-cub,thrust-lines --matrix "${libraries[@]}" ${NCCL_LIBRARY:+--nccl "$NCCL_LIBRARY"} \
    --hazards --known tests/differential/known-mercury.txt "$@"
