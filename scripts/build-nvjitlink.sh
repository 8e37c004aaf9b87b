#!/bin/bash
# Builds libnvJitLink.so.13 and libnvJitLink.so.12 of crates/nvjitlink and prints their folder as the last line.
#
#   scripts/build-nvjitlink.sh                  release build
#   PROFILE=dev scripts/build-nvjitlink.sh      for tests
#   TARGET=aarch64-unknown-linux-gnu CC=aarch64-linux-gnu-gcc …   for another machine
#
# Symbols need versions that are the library's name, which a cdylib of cargo does not give them. So cargo
# makes a static library, and cc a shared one of it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/shared-library.sh
static_library
out=$(library_folder nvjitlink)
mkdir -p "$out"
for major in 12 13; do
    name=libnvJitLink.so.$major
    exports=crates/nvjitlink/exports/$name
    shared_library "$out/$name" "$exports.map" -Wl,@"$exports.aliases" -Wl,--whole-archive "$archive" -Wl,--no-whole-archive
done
ln -sf libnvJitLink.so.13 "$out/libnvJitLink.so"
echo "$out"
