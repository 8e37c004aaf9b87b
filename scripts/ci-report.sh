#!/bin/bash
# Pages of --report in a real browser: what tests/report/test_pages.py checks, for the examples, for weak copies,
# for a file of two halves, for hostile names and for NCCL. Pictures of all views of the last two stay in $WORK/pictures.
#
# $WARPLD is the linker. Without Chromium (scripts/build-tools.sh) nothing is run, and the reason is printed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
warpld=$(realpath "${WARPLD:-target/release/warpld}")
work=$(realpath -m "${WORK:-${CARGO_TARGET_DIR:-target}/ci-report}")
errors=$(mktemp)
trap 'rm -f "$errors"' EXIT
if ! tools=$(scripts/build-tools.sh chromium 2>"$errors"); then
    echo "not run: pages of --report in a browser ($(tail -1 "$errors"))"
    exit 0
fi
PATH=$tools:$PATH
rm -rf "$work"
mkdir -p "$work/pages"

page() { # name, target, inputs
    local name=$1 target=$2
    shift 2
    "$warpld" -arch="$target" "$@" -o "$work/$name.cubin" --report="$work/pages/$name.html"
}
page example sm_90 examples/saxpy.sm_90.cubin examples/scale.sm_90.cubin
page copies sm_90 tests/fixtures/switch_{a,b}.sm_90.cubin
page halves sm_100 tests/fixtures/switch_{a,b}.sm_100.cubin
tests/report/inputs.py hostile examples "$work/hostile"
(cd "$work/hostile" && page hostile sm_90 ./*.cubin)
if library=$(scripts/wheel.sh nccl 2>"$errors"); then
    tests/report/inputs.py nccl "$library/nvidia/nccl/lib/libnccl.so.2" "$work/nccl"
    page nccl sm_90 "$work"/nccl/*.fatbin
    rm -r "$work/nccl" "$work/nccl.cubin"
else
    echo "not run: the page of NCCL ($(tail -1 "$errors"))"
fi
rm -rf "$work/pictures"
tests/report/test_pages.py "$work/pages"
mv "$work/pages/pictures" "$work/pictures"
