#!/bin/bash
# Builds the recipes of the guide with warpld as the linker of a CUDA toolkit:
# a Makefile and a CMake project, each for two targets, into host executables.
#
#   CUDA_HOME=/path/to/cuda WARPLD=/path/to/warpld scripts/ci-builds.sh
#
# Needs make and gcc; cmake is fetched into a virtual environment if missing.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cuda=${CUDA_HOME:-$("$here/scripts/toolkit.sh")}
warpld=${WARPLD:-$here/target/release/warpld}
work=${WORK:-$(mktemp -d)}
shim=$work/cuda
mkdir -p "$work"

cmake=$(command -v cmake || true)
if [ -z "$cmake" ]; then
    [ -x "$work/python/bin/cmake" ] || {
        python3 -m venv "$work/python"
        "$work/python/bin/pip" install -q --disable-pip-version-check cmake
    }
    cmake=$work/python/bin/cmake
fi

"$warpld" shim "$cuda" "$shim"

# Whichever linker ran is named in the tool note of the linked image.
linked_by_warpld() { # program
    grep -q 'Build warpld_' "$1" || { echo "$1 was not linked by warpld" >&2; exit 1; }
    echo "$1: linked by warpld"
}

rm -rf "$work/make"
cp -r "$here/tests/builds/make" "$work/make"
make -s -C "$work/make" CUDA="$shim"
linked_by_warpld "$work/make/program"

rm -rf "$work/cmake"
"$cmake" -S "$here/tests/builds/cmake" -B "$work/cmake" \
    -DCMAKE_CUDA_COMPILER="$shim/bin/nvcc" >"$work/cmake.log"
"$cmake" --build "$work/cmake" >>"$work/cmake.log"
linked_by_warpld "$work/cmake/program"
linked_by_warpld "$work/cmake/program_resolved"
