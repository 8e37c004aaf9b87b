#!/bin/bash
# Builds the command as it is shipped: one stripped file that needs no library, with the same bytes for one commit,
# whatever folder it is built in. The last line is its path. A command of 6,000,000 bytes or more is an error.
#
#   scripts/build-command.sh                 for Linux on this machine's processor
#   scripts/build-command.sh aarch64         for Linux on another one: x86_64 or aarch64
#   scripts/build-command.sh windows         for Windows on x86-64
#
# The bytes depend on the Rust toolchain, and on Linux on the libc.a that is linked: the machine's for its own
# processor, otherwise that of Debian's or Ubuntu's packages for cross compilers. $CARGO_TARGET_DIR and $BUILD_TOOLS
# name the folders.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
platform=${1:-$(uname -m)}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
sysroot=$(rustc --print sysroot)
lld=$sysroot/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
linkers=$target/linkers
mkdir -p "$linkers"
program=warpld
case $platform in
x86_64 | aarch64) triple=$platform-unknown-linux-gnu ;;
windows)
    triple=x86_64-pc-windows-gnu
    program=warpld.exe
    ;;
*)
    echo "usage: $0 [x86_64|aarch64|windows]" >&2
    exit 2
    ;;
esac
if ! grep -qx "$triple" <<<"$(rustup target list --installed 2>/dev/null)" && [ ! -d "$sysroot/lib/rustlib/$triple/lib" ]; then
    rustup -q target add "$triple" >&2
fi

# Where sources lie must not be told by the messages of panics. The later of two prefixes that match wins.
cargo_home=$(realpath -m "${CARGO_HOME:-$HOME/.cargo}")
flags=(
    "--remap-path-prefix=$PWD=/warpld"
    "--remap-path-prefix=$cargo_home/registry/src=/crates"
    "--remap-path-prefix=$sysroot/lib/rustlib/src/rust=/rust"
    -Ctarget-feature=+crt-static
    # Cargo's setting does not reach a package that has settings of its own.
    -Cstrip=symbols
)
largest=5999999

# A linker that needs nothing but the libraries: that of the Rust toolchain, called as gcc is.
gnu_linker() { # root of the packages
    local libraries=$1/usr/$platform-linux-gnu/lib gcc
    gcc=$(echo "$1"/usr/lib/gcc-cross/"$platform"-linux-gnu/*)
    cat >"$linkers/$platform" <<END
#!/bin/bash
arguments=()
for argument in "\$@"; do
    case \$argument in
    -Wl,*) IFS=, read -ra parts <<<"\${argument#-Wl,}" && arguments+=("\${parts[@]}") ;;
    -nodefaultlibs | -fuse-ld=* | -B*) ;;
    *) arguments+=("\$argument") ;;
    esac
done
exec '$lld' -flavor gnu -m ${platform}linux --eh-frame-hdr -L '$libraries' -L '$gcc' \
    '$libraries/crt1.o' '$libraries/crti.o' '$gcc/crtbeginT.o' "\${arguments[@]}" '$gcc/crtend.o' '$libraries/crtn.o'
END
}

# Zig has the libraries of mingw.
windows_linker() { # folder of the programs
    cat >"$linkers/$platform" <<END
#!/bin/bash
export ZIG_GLOBAL_CACHE_DIR='$linkers/zig' ZIG_LOCAL_CACHE_DIR='$linkers/zig'
export CARGO_ZIGBUILD_ZIG_PATH='$1/python-zig' PATH='$1':"\$PATH"
case \${0##*/} in
*dlltool) exec cargo-zigbuild zig dlltool -- "\$@" ;;
esac
exec cargo-zigbuild zig cc -- -target x86_64-windows-gnu "\$@"
END
    chmod +x "$linkers/$platform"
    ln -sf "$platform" "$linkers/$platform-dlltool"
}

# The command does not catch panics, so it needs no code and no tables to unwind the stack (0.6 MB). A handler of
# signals removes an unfinished output. Programs for Windows must have the tables.
[ "$platform" = windows ] || flags+=(-Cforce-unwind-tables=no)

case $platform in
"$(uname -m)")
    flags+=("-Clink-arg=-Wl,--build-id=none")
    # Rust links with lld there, which can keep one copy of functions that are the same. A static program relocates
    # itself, and glibc does that with packed relocations since 2.36. Both together save 190 KB.
    if [ "$platform" = x86_64 ]; then
        flags+=("-Clink-arg=-Wl,--icf=all")
        glibc=$(getconf GNU_LIBC_VERSION | sed 's/.* //')
        if [ "$(printf '%s\n' 2.36 "$glibc" | sort -V | head -1)" = 2.36 ]; then
            flags+=("-Clink-arg=-Wl,-z,pack-relative-relocs")
        fi
    fi
    ;;
windows)
    windows_linker "$(scripts/build-tools.sh zig)"
    flags+=("-Cdlltool=$linkers/windows-dlltool")
    ;;
aarch64) gnu_linker "$(scripts/build-tools.sh aarch64-libraries)" ;;
*)
    echo "no libraries for $platform on $(uname -m)" >&2
    exit 1
    ;;
esac
config=(--config "profile.release.panic='abort'")
if [ "$platform" != "$(uname -m)" ]; then
    chmod +x "$linkers/$platform"
    config+=(--config "target.$triple.linker='$linkers/$platform'")
fi
# The linker for Windows writes a time into the file: that of the commit, unless the caller has another.
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
list=$(printf "'%s'," "${flags[@]}")
config+=(--config "target.$triple.rustflags=[$list]")
env -u RUSTFLAGS -u CARGO_ENCODED_RUSTFLAGS cargo build -q --release --locked -p warpld --bin warpld --target "$triple" "${config[@]}" >&2
size=$(stat -c %s "$target/$triple/release/$program")
if [ "$size" -gt "$largest" ]; then
    echo "$program for $platform has $size bytes; at most $largest are allowed" >&2
    exit 1
fi
echo "$target/$triple/release/$program"
