#!/bin/bash
# Runs fuzz targets with libFuzzer, guided by coverage, on a stable toolchain (cargo-fuzz needs a
# nightly one, for the address sanitizer; the code is safe Rust but for two maps of files).
#
#   scripts/fuzz.sh 0                    builds the targets and their first inputs, no more
#   scripts/fuzz.sh RUNS [TARGET...]     targets: cubin metadata tables tools fatbin archive
#                                        link nvjitlink (default: all)
#
# What is found goes to $OUT (fuzz/artifacts) with the bytes that show it; the corpus grows in
# fuzz/corpus. Prints the executions of each target; fails at the first finding.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
runs=${1:?how many executions for each target}
shift
targets=("$@")
[ $# -gt 0 ] || targets=(cubin metadata tables tools fatbin archive link nvjitlink)
target_dir=$(realpath -m "${FUZZ_TARGET_DIR:-fuzz/target}")
out=$(realpath -m "${OUT:-fuzz/artifacts}")
mkdir -p "$out"

export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table
    -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=16"
RUSTFLAGS=$(echo $RUSTFLAGS)
host=$(rustc -vV | sed -n 's/^host: //p')
# With --target, build scripts are not instrumented.
CARGO_TARGET_DIR=$target_dir cargo build -q --release --target "$host" --manifest-path fuzz/Cargo.toml
python3 fuzz/seed.py
[ "$runs" != 0 ] || exit 0

for target in "${targets[@]}"; do
    log=$out/$target.log
    "$target_dir/$host/release/$target" -runs="$runs" -timeout=5 -rss_limit_mb=2048 \
        -max_len=65536 -print_final_stats=1 -artifact_prefix="$out/$target-" \
        "fuzz/corpus/$target" >"$log" 2>&1 || {
        tail -40 "$log"
        echo "$target: FAILED; the input is in $out" >&2
        exit 1
    }
    echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' "$log") executions, no finding"
done
