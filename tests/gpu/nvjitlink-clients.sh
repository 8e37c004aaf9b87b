#!/bin/bash
# Runs what links through libnvJitLink on a machine with a GPU, first as it is and then with our library preloaded, and
# prints the outcomes side by side. Needs no network and no Rust: Python with pytest and whatever it tests.
#
#   tests/gpu/nvjitlink-clients.sh OURS [FILES]
#
# OURS is the folder of our libnvJitLink.so.13. FILES is a folder with the tests that are in no package:
#
#   cuda_core/tests/{test_linker.py,graph/test_device_launch.py}    of NVIDIA/cuda-python
#   cuda_python_test_helpers/                                       of the same
#   cuda_bindings/test_nvjitlink.py                                 of the same
#   numba-testing/                                                  testing/ of NVIDIA/numba-cuda
#   site/                                                           filecheck and cffi, which numba-cuda's tests import
#
# $PYTHON names another python3, $WORK a folder for logs, $LIMIT the seconds a suite may take (150 unless set). Exit
# status 0 if every test has the same outcome with both. Where something is missing, its suite is not run, and that
# is said.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
[ $# -ge 1 ] && [ -e "$1/libnvJitLink.so.13" ] || { sed -n '2,/^set/p' "${BASH_SOURCE[0]}" | grep '^#' >&2; exit 2; }
ours=$(realpath "$1/libnvJitLink.so.13")
files=$(realpath -m "${2:-/nonexistent}")
python=${PYTHON:-python3}
limit=${LIMIT:-150}
work=$(realpath -m "${WORK:-$(mktemp -d)}")
clients=$here/tests/clients
mkdir -p "$work"
export PYTHONPATH=$clients:$files/site:$files/cuda_python_test_helpers${PYTHONPATH:+:$PYTHONPATH}
export PYTHONDONTWRITEBYTECODE=1 XLA_PYTHON_CLIENT_PREALLOCATE=false
[ -z "${CUDA_HOME:-}${CUDA_PATH:-}" ] && [ -d /usr/local/cuda ] && export CUDA_HOME=/usr/local/cuda
[ -z "${CUDA_HOME:-}" ] || export PATH=$PATH:$CUDA_HOME/bin
different=0 run=0

has() { "$python" -c "import importlib.util, sys; sys.exit(importlib.util.find_spec('$1') is None)" 2>/dev/null; }
count() { grep -c "^$1 " "$2" || true; }

outcomes() { # out, environment, arguments of pytest
    local out=$1 setting=$2
    shift 2
    rm -f "$out" "$out.mapped"
    # shellcheck disable=SC2086
    (cd "$work" && OUTCOMES=$out env $setting timeout "$limit" "$python" -m pytest -q --noconftest -c /dev/null --rootdir "$work" \
        -p no:cacheprovider -p no:randomly -p with_gpu -p outcomes -W ignore --tb=short "$@") >"$out.log" 2>&1
    # A crash leaves no outcomes.
    [ -e "$out" ] || { : >"$out"; : >"$out.mapped"; tail -5 "$out.log" | sed 's/^/    /'; }
}

suite() { # name, arguments of pytest
    local name=$1 real verdict=same
    local without=$work/$1.without with=$work/$1.with
    shift
    run=$((run + 1))
    outcomes "$without" "WARPLD_TRACE=" "$@"
    real=$(head -1 "$without.mapped")
    # NVIDIA's library is the one that the client loads by itself.
    outcomes "$with" "LD_PRELOAD=$ours ${real:+WARPLD_NVJITLINK=$real}" "$@"
    cmp -s "$without" "$with" || { verdict=DIFFERENT; different=$((different + 1)); }
    [ -s "$without" ] || { verdict='NO OUTCOME'; different=$((different + 1)); }
    grep -qxF "$ours" "$with.mapped" || { verdict='OURS NOT LOADED'; different=$((different + 1)); }
    printf '%-22s %4d passed %3d failed %3d skipped | %4d passed %3d failed %3d skipped  %s%s\n' "$name" \
        "$(count passed "$without")" "$(count failed "$without")" "$(count skipped "$without")" \
        "$(count passed "$with")" "$(count failed "$with")" "$(count skipped "$with")" "$verdict" \
        "$(grep -qvxF "$ours" "$with.mapped" && echo ', with NVIDIA'\''s behind')"
    if [ "$verdict" = DIFFERENT ]; then
        diff "$without" "$with" | cut -c 1-250 | head -20 | sed 's/^/    /'
        grep -E '^(E  |FAILED|ERROR)' "$with.log" | cut -c 1-200 | head -12 | sed 's/^/    /'
    fi
    grep '^failed' "$without" | cut -c 1-150 | head -5 | sed 's/^/    as it is: /'
}

missing() { echo "not run: $1 ($2)"; }

printf '%-22s %-32s | %s\n' '' 'as it is' "with $ours"
if has cuda.core; then
    for test in nvrtc nvcc in_two_steps; do
        suite "links-$test" "$clients/test_gpu.py" -k "test_$test"
    done
    suite links "$clients/test_links.py"
else
    missing 'links by cuda.core' 'no cuda.core'
fi
if [ -e "$files/cuda_core" ] && has cuda.core; then
    suite cuda.core-linker "$files/cuda_core/tests/test_linker.py"
    sed 's/compile("ptx")/compile("cubin")/; s/from_ptx/from_cubin/' "$files/cuda_core/tests/test_linker.py" >"$work/test_cubins.py"
    suite cuda.core-cubins "$work/test_cubins.py"
    suite cuda.core-launch "$files/cuda_core/tests/graph/test_device_launch.py"
    suite cuda.bindings "$files/cuda_bindings/test_nvjitlink.py"
else
    missing "cuda.core's tests" "no cuda.core, or no $files/cuda_core"
fi
if has numba_cuda; then
    if [ -e "$files/numba-testing" ] && command -v nvcc >/dev/null; then
        mkdir -p "$work/python" "$work/bin"
        printf '#!/bin/sh\nexec "%s" "$@"\n' "$(command -v "$python")" >"$work/python/python"
        chmod +x "$work/python/python"
        PATH=$work/python:$PATH make -k -j8 -C "$files/numba-testing" OUTPUT_DIR="$work/bin" >"$work/numba-testing.log" 2>&1 ||
            missing "some inputs of numba-cuda's tests" "see $work/numba-testing.log: $(grep -m1 -iE 'error' "$work/numba-testing.log")"
        cp "$files"/numba-testing/*.cu "$work/bin"
        export NUMBA_CUDA_TEST_BIN_DIR=$work/bin
    else
        missing "numba-cuda's tests with inputs by nvcc" "no nvcc, or no $files/numba-testing"
    fi
    for test in cudadrv.test_nvjitlink cudadrv.test_linker cudadrv.test_linkable_code cudapy.test_cooperative_groups; do
        suite "numba-${test#*.test_}" -o consider_namespace_packages=true --pyargs "numba.cuda.tests.$test"
    done
else
    missing "numba-cuda's tests" 'no numba-cuda'
fi
for client in cupy torch jax; do
    if has $client; then
        suite $client "$clients/test_gpu.py" -k "test_$client"
    else
        missing $client "not installed"
    fi
done
echo "$run suites, $different different; logs are in $work"
[ $run -gt 0 ] && [ $different -eq 0 ]
