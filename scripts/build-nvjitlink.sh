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
profile=${PROFILE:-release}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
folder=$profile
[ "$profile" != dev ] || folder=debug
cargo build -q --profile "$profile" -p warpld-nvjitlink --lib ${TARGET:+--target "$TARGET"}
archive=$target/${TARGET:+$TARGET/}$folder/libwarpld_nvjitlink.a
out=$target/nvjitlink/${TARGET:+$TARGET/}$profile
mkdir -p "$out"
for major in 12 13; do
    name=libnvJitLink.so.$major
    # A thread of a link may still end when a program unloads the library: nodelete.
    "${CC:-cc}" -shared -o "$out/$name.new" -Wl,-soname,"$name" \
        -Wl,--version-script="crates/nvjitlink/exports/$name.map" -Wl,@"crates/nvjitlink/exports/$name.aliases" \
        -Wl,--whole-archive "$archive" -Wl,--no-whole-archive -Wl,--gc-sections -Wl,-z,nodelete -Wl,-z,relro,-z,now \
        -Wl,--strip-all -Wl,--no-undefined -lpthread -ldl -lm -lc -lgcc_s
    mv "$out/$name.new" "$out/$name"
done
ln -sf libnvJitLink.so.13 "$out/libnvJitLink.so"
echo "$out"
