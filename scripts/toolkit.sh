#!/bin/bash
# Installs the reference CUDA toolkit from PyPI into the ignored folder .toolkit and prints its root
# (bin/, lib/, include/, nvvm/). $TOOLKIT names another folder; an installation found there is used.
#
#   scripts/toolkit.sh            CUDA 13.0.88: nvcc, ptxas, nvlink, fatbinary, cuobjdump, nvdisasm
#   scripts/toolkit.sh ptxas12    the path of ptxas 12.9.86, which writes the older ABI
#   scripts/toolkit.sh ptxas120   the path of ptxas 12.0.140, which leaves out what came to that later
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${TOOLKIT:-$here/.toolkit}

# The folder that the packages of a virtual environment install into.
site() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

install() {
    local env=$1 probe=$2
    shift 2
    if [ ! -x "$env/bin/python" ] || [ ! -x "$(site "$env")/$probe" ]; then
        mkdir -p "$(dirname "$env")"
        python3 -m venv "$env" >&2
        "$env/bin/pip" install -q --disable-pip-version-check "$@" >&2
    fi
}

case ${1:-cuda13} in
cuda13)
    install "$folder/v" nvidia/cu13/bin/nvlink \
        nvidia-cuda-nvcc==13.0.88 nvidia-nvvm==13.0.88 nvidia-cuda-crt==13.0.88 \
        nvidia-cuda-runtime==13.0.96 nvidia-nvjitlink==13.0.88 nvidia-cuda-cccl==13.0.85 \
        nvidia-cuda-cuobjdump==13.2.86 nvidia-cuda-nvdisasm==13.2.86
    root=$(site "$folder/v")/nvidia/cu13
    # nvcc looks for its libraries in lib64.
    [ -e "$root/lib64" ] || ln -s lib "$root/lib64"
    echo "$root"
    ;;
ptxas12)
    install "$folder/ptxas12" nvidia/cuda_nvcc/bin/ptxas --no-deps nvidia-cuda-nvcc-cu12==12.9.86
    echo "$(site "$folder/ptxas12")/nvidia/cuda_nvcc/bin/ptxas"
    ;;
ptxas120)
    install "$folder/ptxas120" nvidia/cuda_nvcc/bin/ptxas --no-deps nvidia-cuda-nvcc-cu12==12.0.140
    echo "$(site "$folder/ptxas120")/nvidia/cuda_nvcc/bin/ptxas"
    ;;
*)
    echo "usage: $0 [cuda13|ptxas12|ptxas120]" >&2
    exit 2
    ;;
esac
