#!/bin/bash
# Runs programs that link through libnvJitLink with NVIDIA's library and with ours, and compares the outcome of
# every test:
#
#   links      our own links by cuda.bindings and cuda.core (tests/clients): bytes, logs and results are compared too
#   bindings   cuda.bindings' tests of nvJitLink
#   linker     cuda.core's tests of its linker
#   cubins     the same tests with machine code where they have PTX
#
# each with NVIDIA's library, with ours that finds NVIDIA's when something must be compiled, and with ours
# alone. NVIDIA's is that of CUDA 13.0, whose outputs ours are; cuda.bindings' tests run with 13.4 too. Alone, only
# the tests that compile may fail (tests/clients/compilers.txt lists them), and no other libnvJitLink may be in the
# process.
#
# The packages come from PyPI. The last three suites are in the repository of cuda-python, and in no package:
# $CUDA_PYTHON names a clone; without one it is fetched, and where it cannot be had they are not run.
#
# $NVJITLINK names the folder of our library, $CLIENTS the folder that everything is installed in.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$(realpath -m "${CLIENTS:-$target/clients}")
tests=$PWD/tests/clients
repository=https://github.com/NVIDIA/cuda-python
revision=06afb3bf6a0765a6ec51301a2d4e7045e4471279
packages=(cuda-bindings==13.4.4 cuda-core==1.2.2 nvidia-cuda-nvrtc==13.0.88 numpy==2.4.4 pytest==9.2.0)
# A process that takes forever is a failure like another one.
limit=120

ours=${NVJITLINK:-$(scripts/build-nvjitlink.sh | tail -1)}/libnvJitLink.so.13
real=$(scripts/toolkit.sh 13.0)/lib/libnvJitLink.so.13
newest=$(scripts/toolkit.sh 13.4)/lib/libnvJitLink.so.13
mkdir -p "$work/out"

python=$work/v/bin/python
if [ ! -e "$work/v/complete" ]; then
    rm -rf "$work/v"
    python3 -m venv "$work/v"
    "$python" -m pip install -q --disable-pip-version-check "${packages[@]}"
    touch "$work/v/complete"
fi
cc -shared -fPIC -o "$work/libdriver.so" "$tests/driver.c"

# The test files that are run, in a folder of their own: nothing else of the repository is looked at.
suites=$work/suites
bring() {
    local clone=${CUDA_PYTHON:-$work/cuda-python} part
    if [ ! -e "$clone" ]; then
        part=$clone.part
        rm -rf "$part"
        GIT_TERMINAL_PROMPT=0 timeout 60 git clone -q --filter=blob:none --no-checkout "$repository" "$part" || return 1
        mv "$part" "$clone"
    fi
    rm -rf "$suites"
    mkdir -p "$suites"
    git -C "$clone" show "$revision:cuda_bindings/tests/test_nvjitlink.py" >"$suites/test_nvjitlink.py" &&
        git -C "$clone" show "$revision:cuda_bindings/tests/legacy_api/test_legacy_nvjitlink.py" \
            >"$suites/test_legacy_nvjitlink.py" &&
        git -C "$clone" show "$revision:cuda_core/tests/test_linker.py" >"$suites/test_linker.py" || return 1
    sed 's/compile("ptx")/compile("cubin")/; s/from_ptx/from_cubin/' "$suites/test_linker.py" >"$suites/test_cubins.py"
    if cmp -s "$suites/test_linker.py" "$suites/test_cubins.py"; then
        echo "no PTX was found in cuda.core's tests" >&2
        return 1
    fi
}

# The outcomes of a suite with a library.
run() { # library, suite, files
    local library=$1 suite=$2 out=$work/out/$2.$1 preload behind=none
    shift 2
    case $library in
    real) preload=$real ;;
    ours) preload=$ours behind=$real ;;
    alone) preload=$ours ;;
    esac
    rm -f "$out" "$out.mapped"
    # A crash leaves no outcomes.
    env -u CUDA_PATH -u CUDA_HOME -u CONDA_PREFIX -u LD_LIBRARY_PATH WARPLD_NVJITLINK="$behind" OUTCOMES="$out" \
        NO_GPU_DRIVER="$work/libdriver.so" PYTHONPATH="$tests" PYTHONDONTWRITEBYTECODE=1 LD_PRELOAD="$preload" \
        timeout $limit "$python" -m pytest -q --noconftest -c /dev/null -p no:cacheprovider -p no_gpu -p outcomes \
        -W ignore --tb=short "$@" >"$out.log" 2>&1 || true
    if [ ! -s "$out" ]; then
        tail -20 "$out.log"
        echo "$suite: no outcome with $library"
        : >"$out"
        failed=1
        return
    fi
    if ! grep -qxF "$(realpath "$preload")" "$out.mapped"; then
        echo "$suite: $preload was not used"
        failed=1
    fi
    if [ "$library" = alone ] && [ "$(wc -l <"$out.mapped")" -ne 1 ]; then
        echo "$suite: another library was used:" && cat "$out.mapped"
        failed=1
    fi
}

# The outcomes but those of tests in a list.
without() { # list, file
    [ "$1" != nothing ] || { cat "$2"; return; }
    grep -vE -f <(grep -v '^#' "$tests/$1.txt") "$2"
}

count() { # outcome, file
    grep -c "^$1 " "$2" || true
}

totals() { # suite
    local library
    printf '%-13s' "$1"
    for library in real ours alone; do
        printf '  %s: %s passed, %s failed, %s skipped' $library "$(count passed "$work/out/$1.$library")" \
            "$(count failed "$work/out/$1.$library")" "$(count skipped "$work/out/$1.$library")"
    done
    echo
}

suite() { # name, files
    local name=$1 out=$work/out/$1 library
    shift
    for library in real ours alone; do
        run $library "$name" "$@"
    done
    totals "$name" | tee -a "$work/totals"
    if [ "$(count passed "$out.real")" -eq 0 ] || [ "$(count failed "$out.real")" -ne 0 ]; then
        grep '^failed ' "$out.real" || true
        tail -40 "$out.real.log"
        echo "$name: fails with NVIDIA's library"
        failed=1
    fi
    if ! diff <(without "$apart" "$out.real") <(without "$apart" "$out.ours") >"$out.diff"; then
        cut -c 1-300 "$out.diff"
        tail -40 "$out.ours.log"
        echo "$name: ours differs"
        failed=1
    fi
    # Alone, tests that need a compiler fail, and no others.
    if ! diff <(without compilers "$out.real") <(without compilers "$out.alone") >"$out.diff"; then
        cut -c 1-300 "$out.diff"
        tail -40 "$out.alone.log"
        echo "$name: ours alone differs"
        failed=1
    fi
}

failed=0
# A list of tests that are not compared.
apart=nothing
: >"$work/totals"
suite links "$tests/test_links.py"
if bring; then
    apart=newer suite bindings "$suites/test_nvjitlink.py" "$suites/test_legacy_nvjitlink.py"
    real=$newest suite bindings-13.4 "$suites/test_nvjitlink.py" "$suites/test_legacy_nvjitlink.py"
    suite linker "$suites/test_linker.py"
    suite cubins "$suites/test_cubins.py"
else
    echo "not run: tests of cuda.bindings and cuda.core ($repository cannot be fetched; \$CUDA_PYTHON can name a clone)"
fi
[ $failed -eq 0 ] || { echo "outcomes differ"; exit 1; }
awk '{for (i = 1; i <= NF; i++) if ($i == "ours:") n += $(i + 1)} END {print n " tests pass through our library as through NVIDIA'\''s"}' \
    "$work/totals"
