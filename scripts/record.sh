#!/bin/bash
# Records what nvlink makes of the named cases into tests/recorded, which `cargo test` replays
# without a toolkit. To be run after a case file was added or changed, and its files committed.
#
#   scripts/record.sh            all cases
#   scripts/record.sh NAME       the cases with NAME in their name
#   scripts/record.sh --check    writes nothing; fails if nvlink answers otherwise than recorded
#
# $TOOLKIT names an installed toolkit, $WARPLD a linker to compare with, $DIFFERENTIAL the program of
# these tests, $JOBS the number of threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh
cuda=$(scripts/toolkit.sh)
ptxas12=$(scripts/toolkit.sh ptxas12)
ptxas120=$(scripts/toolkit.sh ptxas120)

exec "$DIFFERENTIAL" record --toolkit "$cuda" --ptxas12 "$ptxas12" --ptxas120 "$ptxas120" \
    --warpld "$WARPLD" --work "$work" --jobs "${JOBS:-2}" "$@"
