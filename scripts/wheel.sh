#!/bin/bash
# Fetches a library with relocatable device code from PyPI, once, and prints the folder its wheel is
# unpacked in: the one place that names the versions the tests use.
#
#   scripts/wheel.sh nccl       nvidia/nccl/lib/libnccl.so.2 keeps the inputs of its device link
#   scripts/wheel.sh nccl-newest
#                               the same of the newest release that CUDA 13.4 made
#   scripts/wheel.sh nvshmem    nvidia/nvshmem/{include,lib}: a library of device code
#   scripts/wheel.sh nvshmem-13.0
#                               the same of the last release that CUDA 13.0 made
#   scripts/wheel.sh cublasmp   nvidia/cublasmp/cu13/lib/libcublasmp.so.0, of the last releases that keep inputs
#   scripts/wheel.sh cufftmp    nvidia/cufftmp/cu13/lib/libcufftMp.so.12 keeps them, too
#
# $WARPLD_WHEELS names another folder than target/wheels; a wheel found there is not fetched.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
wheels=${WARPLD_WHEELS:-$here/target/wheels}

case ${1:-} in
nccl) package=nvidia-nccl-cu13 version=2.27.7 ;;
nccl-newest) package=nvidia-nccl-cu13 version=2.32.3 ;;
nvshmem) package=nvidia-nvshmem-cu13 version=3.8.0 ;;
nvshmem-13.0) package=nvidia-nvshmem-cu13 version=3.5.21 ;;
cublasmp) package=nvidia-cublasmp-cu13 version=0.7.0.125 ;;
cufftmp) package=nvidia-cufftmp-cu13 version=12.1.3.2 ;;
*)
    echo "usage: $0 nccl|nccl-newest|nvshmem|nvshmem-13.0|cublasmp|cufftmp" >&2
    exit 2
    ;;
esac

folder=$wheels/$package-$version
if [ ! -e "$folder" ]; then
    # Unpacked under another name first: what has been interrupted is not taken for the whole.
    part=$folder.part
    rm -rf "$part"
    mkdir -p "$part"
    wheel=$(find "$wheels" -maxdepth 1 -name "${package//-/_}-$version-*.whl" -print -quit)
    if [ -z "$wheel" ]; then
        python3 -m pip download -q --disable-pip-version-check --no-deps --dest "$part" "$package==$version" >&2
        wheel=$(echo "$part"/*.whl)
    fi
    python3 -m zipfile -e "$wheel" "$part"
    rm -f "$part"/*.whl
    mv "$part" "$folder"
fi
realpath "$folder"
