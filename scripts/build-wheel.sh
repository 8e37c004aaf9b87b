#!/bin/bash
# Builds the Python wheel `warpld` (python/): the command, libnvJitLink.so.13 and .so.12, libwarpld.so.0 and the module.
# The last line is its path.
#
#   scripts/build-wheel.sh                 for this machine
#   scripts/build-wheel.sh aarch64         for another one: x86_64 or aarch64
#   PROFILE=dev scripts/build-wheel.sh     for tests
#
# The libraries are linked with the symbols of glibc 2.17 alone, whatever glibc is here, so that the wheel installs on
# everything that is newer (manylinux_2_17, which is manylinux2014): Zig, from PyPI, has them for both machines, and the
# linker is that of the Rust toolchain. The command is the static one of scripts/build-command.sh; where that cannot be built
# for another machine, one that needs glibc 2.17. The wheel's
# tag is what readelf sees.
#
# $WHEEL_TOOLS names a folder for the tools (.build-tools/wheel unless set).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
machine=${1:-$(uname -m)}
profile=${PROFILE:-release}
triple=$machine-unknown-linux-gnu
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tools=$(realpath -m "${WHEEL_TOOLS:-.build-tools/wheel}")
files=$target/wheel/$machine-$profile
case $machine in
x86_64) emulation=elf_x86_64 ;;
aarch64) emulation=aarch64linux ;;
*) echo "usage: $0 [x86_64|aarch64]" >&2; exit 2 ;;
esac

python=$tools/v/bin/python
if [ ! -e "$tools/v/complete" ]; then
    rm -rf "$tools/v"
    python3 -m venv "$tools/v"
    "$python" -m pip install -q --disable-pip-version-check ziglang==0.17.0 cargo-zigbuild==0.24.0 \
        hatchling==1.33.0 build==1.6.1
    touch "$tools/v/complete"
fi
if ! grep -qx "$triple" <<<"$(rustup target list --installed)"; then
    rustup -q target add "$triple"
fi

# Libraries without code that have the symbols of glibc 2.17, and of libgcc_s.
stubs=$tools/glibc-2.17-$machine
if [ ! -e "$stubs" ]; then
    part=$stubs.part
    rm -rf "$part"
    mkdir -p "$part/cache"
    export ZIG_GLOBAL_CACHE_DIR=$part/cache ZIG_LOCAL_CACHE_DIR=$part/cache
    zig() { "$python" -m ziglang cc -target "$machine-linux-gnu.2.17" -shared "$@"; }
    echo 'int unused;' >"$part/empty.c"
    zig -o "$part/empty.so" "$part/empty.c" -lpthread -ldl -lm
    for library in c m dl pthread ld; do
        cp "$(find "$part/cache" -name "lib$library.so.[0-9]")" "$part/lib$library.so"
    done
    # Functions that old releases link into each program.
    cp "$(find "$part/cache" -name libc_nonshared.a)" "$part/libc_nonshared.a"
    # What Rust's panics need.
    {
        for name in GetDataRelBase GetIP GetLanguageSpecificData GetRegionStart GetTextRelBase RaiseException Resume SetGR \
            SetIP DeleteException GetCFA Backtrace FindEnclosingFunction GetIPInfo; do
            echo "void _Unwind_$name(void) {}"
        done
    } >"$part/unwind.c"
    cat >"$part/unwind.map" <<'END'
GCC_3.0 { global: _Unwind_GetDataRelBase; _Unwind_GetIP; _Unwind_GetLanguageSpecificData; _Unwind_GetRegionStart;
    _Unwind_GetTextRelBase; _Unwind_RaiseException; _Unwind_Resume; _Unwind_SetGR; _Unwind_SetIP; _Unwind_DeleteException; };
GCC_3.3 { global: _Unwind_GetCFA; _Unwind_Backtrace; _Unwind_FindEnclosingFunction; };
GCC_4.2.0 { global: _Unwind_GetIPInfo; };
END
    zig -nostdlib -Wl,-soname,libgcc_s.so.1 -Wl,--version-script="$part/unwind.map" -o "$part/libgcc_s.so" "$part/unwind.c"
    rm -r "$part/cache"
    mv "$part" "$stubs"
fi

# A cc that links with these, for the scripts that build the libraries.
lld=$(rustc --print sysroot)/lib/rustlib/$(rustc -vV | sed -n 's/^host: //p')/bin/rust-lld
cat >"$tools/cc-$machine" <<END
#!/bin/bash
arguments=()
for argument in "\$@"; do
    case \$argument in
    -Wl,*) IFS=, read -ra parts <<<"\${argument#-Wl,}" && arguments+=("\${parts[@]}") ;;
    *) arguments+=("\$argument") ;;
    esac
done
exec '$lld' -flavor gnu -m $emulation --eh-frame-hdr --as-needed --undefined-version -L '$stubs' "\${arguments[@]}" -lc_nonshared -lc -lld
END
chmod +x "$tools/cc-$machine"

rm -rf "$files"
mkdir -p "$files/_bin" "$files/_lib" "$files/include"
export PROFILE=$profile CC=$tools/cc-$machine
[ "$machine" = "$(uname -m)" ] || export TARGET=$triple
jit=$(scripts/build-nvjitlink.sh | tail -1)
own=$(scripts/build-libwarpld.sh | tail -1)
cp "$jit/libnvJitLink.so.13" "$jit/libnvJitLink.so.12" "$own/lib/libwarpld.so.0" "$files/_lib"
cp "$own/include/warpld.h" "$files/include"
unset CC TARGET

folder=$profile
[ "$profile" != dev ] || folder=debug
if [ "$machine" = x86_64 ] && [ "$profile" = release ]; then
    cp "$(scripts/build-command.sh "$machine" | tail -1)" "$files/_bin"
elif [ "$machine" = "$(uname -m)" ]; then
    # The same for the last crate alone: nothing else is built again.
    cargo rustc -q --profile "$profile" -p warpld --bin warpld --target-dir "$target" -- -Ctarget-feature=+crt-static -Cstrip=symbols
    cp "$target/$folder/warpld" "$files/_bin"
elif [ "$profile" = release ] && command=$(scripts/build-command.sh "$machine"); then
    cp "$command" "$files/_bin"
else
    PATH=$tools/v/bin:$PATH cargo zigbuild -q --profile "$profile" -p warpld --bin warpld --target "$triple.2.17"
    cp "$target/$triple/$folder/warpld" "$files/_bin"
fi

# The newest symbol of glibc that any of the files needs.
newest=$(readelf -VW "$files"/_bin/* "$files"/_lib/* 2>/dev/null | grep -oE 'GLIBC_[0-9.]+' | sed 's/GLIBC_//' | sort -uV | tail -1)
echo "glibc $newest"
platform=manylinux_${newest//./_}_$machine
if [ "$(printf '%s\n' "$newest" 2.17 | sort -V | tail -1)" = 2.17 ]; then
    platform=manylinux_2_17_$machine.manylinux2014_$machine
fi
WARPLD_WHEEL_FILES=$files WARPLD_WHEEL_PLATFORM=$platform "$python" -m build -q --no-isolation --wheel --outdir "$target/wheel" python >&2
ls -t "$target"/wheel/warpld-*"$machine".whl | head -1
