#!/bin/bash
# Records what nvlink makes of the named cases into tests/recorded, which `cargo test` replays
# without a toolkit. To be run after a case file was added or changed, and its files committed.
#
#   scripts/record.sh            all cases
#   scripts/record.sh NAME       the cases with NAME in their name
#   scripts/record.sh --check    writes nothing; fails if nvlink answers otherwise than recorded
#
# $TOOLKIT names an installed toolkit, $WARPLD a linker to compare with, $JOBS the number of threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=${CARGO_TARGET_DIR:-target}
cuda=$(scripts/toolkit.sh)
ptxas12=$(scripts/toolkit.sh ptxas12)
ptxas120=$(scripts/toolkit.sh ptxas120)
cargo build --release -q -p differential
if [ -z "${WARPLD:-}" ]; then
    cargo build --release -q -p warpld
    WARPLD=$target/release/warpld
fi

exec "$target/release/differential" record --toolkit "$cuda" --ptxas12 "$ptxas12" --ptxas120 "$ptxas120" \
    --warpld "$WARPLD" --work target/differential --jobs "${JOBS:-2}" "$@"
