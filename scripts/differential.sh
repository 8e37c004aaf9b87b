# shellcheck shell=bash
# To be sourced by bash in the root of the repository. Chooses the programs for comparisons with
# nvlink and builds those that are missing:
#
#   $DIFFERENTIAL   the program of these tests
#   $WARPLD         the linker to test
#   $work           the folder for what the comparisons compile and link
built=${CARGO_TARGET_DIR:-target}/release
# Scripts that source this use it.
# shellcheck disable=SC2034
work=target/differential
if [ -z "${DIFFERENTIAL:-}" ]; then
    cargo build --release -q -p differential
    DIFFERENTIAL=$built/differential
fi
if [ -z "${WARPLD:-}" ]; then
    cargo build --release -q -p warpld
    WARPLD=$built/warpld
fi
