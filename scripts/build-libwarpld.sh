#!/bin/bash
# Builds libwarpld.so.0, the library behind warpld.h, and prints the folder as its last line: lib/libwarpld.so.0,
# include/warpld.h and lib/pkgconfig/warpld.pc, which can be copied to any prefix.
#
#   scripts/build-libwarpld.sh                  release build
#   PROFILE=dev scripts/build-libwarpld.sh      for tests
#   TARGET=aarch64-unknown-linux-gnu CC=aarch64-linux-gnu-gcc …   for another machine
#
# It is made of the static library of crates/nvjitlink, as libnvJitLink.so is, and exports the functions of warpld.h.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/shared-library.sh
static_library
out=$(library_folder libwarpld)
mkdir -p "$out/lib/pkgconfig" "$out/include"
header=crates/nvjitlink/include/warpld.h
functions=$(sed -n 's/^[a-z].*[ *]\(warpld_[a-z_]*\)(.*);$/\1/p' "$header")
printf 'WARPLD_1 {\n  global:\n%s\n  local: *;\n};\n' "$(printf '    %s;\n' $functions)" >"$out/version.map"
# Only what these functions need is taken from the archive.
# shellcheck disable=SC2046
shared_library "$out/lib/libwarpld.so.0" "$out/version.map" $(printf -- '-Wl,-u,%s ' $functions) "$archive"
rm "$out/version.map"
ln -sf libwarpld.so.0 "$out/lib/libwarpld.so"
cp "$header" "$out/include"
version=$(sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
cat >"$out/lib/pkgconfig/warpld.pc" <<END
prefix=\${pcfiledir}/../..
libdir=\${prefix}/lib
includedir=\${prefix}/include

Name: warpld
Description: Links CUDA device code in memory
Version: $version
Libs: -L\${libdir} -lwarpld
Cflags: -I\${includedir}
END
echo "$out"
