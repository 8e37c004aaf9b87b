#!/bin/bash
# Runs the command line's tests: hundreds of command lines through nvlink and
# warpld, and the snapshots of messages.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
cd "$here"
WARPLD_TOOLKIT=${CUDA_HOME:-$(scripts/toolkit.sh)} \
    cargo test --release -p warpld --test cli_compat --test front_door
