#!/bin/bash
# Installs a reference CUDA toolkit from PyPI into the ignored folder .toolkit and prints its root
# (bin/, lib/, include/, nvvm/). $TOOLKIT names another folder; an installation found there is used.
#
#   scripts/toolkit.sh                  CUDA 13.0.88: nvcc, ptxas, nvlink, fatbinary, cuobjdump, nvdisasm
#   scripts/toolkit.sh RELEASE          another release: 13.4.92, or 13.4 for the last of 13.4. A patch
#                                       release that is not the last has ptxas and nvlink only
#   scripts/toolkit.sh nvjitlink 13.5   the path of libnvJitLink of a release that has nothing else
#   scripts/toolkit.sh ptxas12          the path of ptxas 12.9.86, which writes the older ABI
#   scripts/toolkit.sh ptxas120         the path of ptxas 12.0.140, which leaves out what came to that later
#   scripts/toolkit.sh releases         the releases there are, one per line
#
# $WARPLD_TOOLKITS names a folder of installed toolkits (13.4/v, 13.4.59/v …); those are used first.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=${TOOLKIT:-$here/.toolkit}
shared=${WARPLD_TOOLKITS:-}
releases=(13.0.48 13.0.88 13.1.80 13.1.115 13.2.51 13.2.78 13.2.86 13.3.33 13.3.73 13.4.59 13.4.92)

# The folder that the packages of a virtual environment install into.
site() { "$1/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))'; }

install() {
    local env=$1 probe=$2
    shift 2
    if [ ! -x "$env/bin/python" ] || [ ! -e "$(site "$env")/$probe" ]; then
        mkdir -p "$(dirname "$env")"
        python3 -m venv "$env" >&2
        "$env/bin/pip" install -q --disable-pip-version-check "$@" >&2
    fi
}

# The last release of a minor one; a full number is itself.
full() {
    local release last=
    for release in "${releases[@]}"; do
        case $release in
        "$1") last=$1; break ;;
        "$1".*) last=$release ;;
        esac
    done
    [ -n "$last" ] || { echo "$0: no release '$1'; there are ${releases[*]}" >&2; exit 2; }
    echo "$last"
}

# The packages beside the compilers have numbers of their own.
packages() {
    local runtime jitlink cccl
    case $1 in
    13.0.88) runtime=13.0.96 jitlink=13.0.88 cccl=13.0.85 ;;
    13.1.115) runtime=13.1.80 jitlink=13.1.115 cccl=13.1.115 ;;
    13.2.86) runtime=13.2.86 jitlink=13.2.86 cccl=13.2.86 ;;
    13.3.73) runtime=13.3.29 jitlink=13.3.33 cccl=13.3.3.4.1 ;;
    13.4.92) runtime=13.4.92 jitlink=13.4.92 cccl=13.3.5.0.6 ;;
    esac
    echo "nvidia-cuda-nvcc==$1"
    [ -z "${runtime:-}" ] || echo "nvidia-nvvm==$1 nvidia-cuda-crt==$1 nvidia-cuda-runtime==$runtime \
        nvidia-nvjitlink==$jitlink nvidia-cuda-cccl==$cccl nvidia-cuda-cuobjdump==13.2.86 nvidia-cuda-nvdisasm==13.2.86"
}

# The virtual environment of a release: one that is there already, or that in our folder.
place() {
    local found
    for found in "$shared/$1/v" "$shared/${1%.*}/v"; do
        [ -n "$shared" ] && [ -x "$found/bin/python" ] || continue
        if [ "$found" = "$shared/$1/v" ] || [ "$(full "${1%.*}")" = "$1" ]; then
            echo "$found"
            return
        fi
    done
    case $1 in
    13.0.88) echo "$folder/v" ;;
    *) echo "$folder/$1/v" ;;
    esac
}

toolkit() {
    local release env root list
    release=$(full "$1")
    env=$(place "$release")
    read -r -d '' -a list < <(packages "$release") || true
    install "$env" nvidia/cu13/bin/nvlink --no-deps "${list[@]}"
    root=$(site "$env")/nvidia/cu13
    # nvcc looks for its libraries in lib64. A patch release has neither folder.
    [ ! -e "$root/lib" ] || [ -e "$root/lib64" ] || ln -s lib "$root/lib64" || [ -e "$root/lib64" ]
    # -dlto makes nvlink load nvvm/lib64/libnvvm.so; the packages of 13.0 have it elsewhere.
    if [ -e "$root/lib/libnvvm.so.4" ] && [ ! -e "$root/nvvm/lib64" ]; then
        mkdir -p "$root/nvvm/lib64"
        ln -sf ../../lib/libnvvm.so.4 "$root/nvvm/lib64/libnvvm.so"
    fi
    echo "$root"
}

case ${1:-13.0.88} in
cuda13) toolkit 13.0.88 ;;
13.*) toolkit "${1:-13.0.88}" ;;
releases) printf '%s\n' "${releases[@]}" ;;
nvjitlink)
    [ "${2:-}" = 13.5 ] || [ "${2:-}" = 13.5.37 ] || { echo "$0: no nvjitlink '${2:-}'; there is 13.5" >&2; exit 2; }
    env=$folder/13.5.37/v
    [ -z "$shared" ] || [ ! -x "$shared/13.5/v/bin/python" ] || env=$shared/13.5/v
    install "$env" nvidia/cu13/lib/libnvJitLink.so.13 --no-deps nvidia-nvjitlink==13.5.37
    echo "$(site "$env")/nvidia/cu13/lib/libnvJitLink.so.13"
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
    echo "usage: $0 [RELEASE|nvjitlink 13.5|ptxas12|ptxas120|releases]" >&2
    exit 2
    ;;
esac
