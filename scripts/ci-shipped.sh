#!/bin/bash
# Repeats the device links of libraries that keep their inputs, with warpld alone: they must come out as they
# were shipped, but for the number of an update of CUDA that NVIDIA did not publish. docs/releases.md
# lists the libraries.
#
# $WARPLD names a linker to test, $DIFFERENTIAL the program of these tests.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh

check() { # targets library
    "$DIFFERENTIAL" shipped --warpld "$WARPLD" --work "$work" --sm "$1" "$2"
}

status=0
nvshmem=nvidia/nvshmem/lib/libnvshmem_host.so.3
check sm_75,sm_80,sm_90,sm_100,sm_110,sm_120 "$(scripts/wheel.sh nccl-newest)/nvidia/nccl/lib/libnccl.so.2" || status=1
check sm_90,sm_100,sm_110,sm_120 "$(scripts/wheel.sh nccl)/nvidia/nccl/lib/libnccl.so.2" || status=1
# For Blackwell it has code of 13.0 that nvlink of 13.3 schedules anew.
check sm_75,sm_80,sm_90 "$(scripts/wheel.sh nvshmem)/$nvshmem" || status=1
check sm_90,sm_100,sm_120 "$(scripts/wheel.sh nvshmem-13.0)/$nvshmem" || status=1
check sm_90,sm_100,sm_120 "$(scripts/wheel.sh cublasmp)/nvidia/cublasmp/cu13/lib/libcublasmp.so.0" || status=1
check sm_90,sm_100,sm_120 "$(scripts/wheel.sh cufftmp)/nvidia/cufftmp/cu13/lib/libcufftMp.so.12" || status=1
exit "$status"
