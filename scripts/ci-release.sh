#!/bin/bash
# Checks what is shipped. Each part alone, or all of them:
#
#   scripts/ci-release.sh deny        licences, sources, versions and known faults of the crates that are used (deny.toml)
#   scripts/ci-release.sh workflows   .github/workflows, by actionlint (crates/warpld/tests/workflows.rs reads them, too)
#   scripts/ci-release.sh packages    what scripts/release.sh makes, and that another folder gives the same bytes
#   scripts/ci-release.sh aarch64     the command for aarch64 links the recorded cases as they were recorded
#   scripts/ci-release.sh windows     the same for Windows, a sample of them ($WINDOWS_CASES: parts of their names)
#
# $DIFFERENTIAL names the program that replays the cases (target/release/differential unless set). What cannot be had is
# reported as "not run: WHAT (WHY)".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
export CARGO_TARGET_DIR=$target
differential=$(realpath -m "${DIFFERENTIAL:-$target/release/differential}")
work=$target/ci-release
mkdir -p "$work"

# A tool's folder in $tools, or a line for the summary.
tools=
need() { # tool, what cannot be run
    if ! tools=$(scripts/build-tools.sh "$1" 2>"$work/tool.log"); then
        echo "not run: $2 ($(tail -1 "$work/tool.log"))"
        return 1
    fi
}

need_target() { # triple, what cannot be run
    if ! rustup target add "$1" >"$work/tool.log" 2>&1; then
        echo "not run: $2 (rustup cannot add $1)"
        return 1
    fi
}

part_deny() {
    need cargo-deny "cargo deny" || return 0
    PATH=$tools:$PATH cargo deny --all-features check licenses bans sources
    if timeout 60 git ls-remote -q https://github.com/RustSec/advisory-db HEAD >/dev/null 2>&1; then
        PATH=$tools:$PATH cargo deny --all-features check advisories
    else
        echo "not run: known vulnerabilities (their list at github.com cannot be fetched)"
    fi
}

part_workflows() {
    need actionlint actionlint || return 0
    PATH=$tools:$PATH actionlint .github/workflows/*.yml
    echo "$(find .github/workflows -name '*.yml' | wc -l) workflows pass actionlint"
}

fail() {
    echo "$1" >&2
    exit 1
}

# Static, stripped, and without a word about the machine that built it.
check_command() { # command
    readelf -lSW "$1" >"$work/headers"
    if grep -E 'INTERP|\.symtab|\.debug_info|\.debug_line' "$work/headers"; then fail "$1 is not static and stripped"; fi
    local place
    for place in "$PWD" "$target" "${CARGO_HOME:-$HOME/.cargo}/"; do
        if grep -qaF "$place" "$1"; then fail "$1 contains $place"; fi
    done
}

check_package() { # package
    local root=$work/root
    rm -rf "$root"
    dpkg-deb -x "$1" "$root"
    dpkg-deb -e "$1" "$root/DEBIAN"
    (cd "$root" && md5sum --quiet -c DEBIAN/md5sums)
    # Through a file: a grep that stops at the first match would end zcat by SIGPIPE, now and then.
    zcat "$root"/usr/share/man/man1/warpld*.1.gz >"$work/pages"
    local pages
    pages=$(grep -c '^\.TH' "$work/pages")
    [ "$pages" -gt 5 ] || fail "$1 has $pages man pages"
    [ "$(find "$root/usr/share/man/man1" -name '*.gz' | wc -l)" -eq "$pages" ] || fail "a file of $1 is no man page"
    bash -n "$root/usr/share/bash-completion/completions/warpld"
    grep -q '#compdef warpld' "$root/usr/share/zsh/vendor-completions/_warpld"
    grep -q 'complete' "$root/usr/share/fish/vendor_completions.d/warpld.fish"
    [ -s "$root/usr/share/doc/warpld/copyright" ]
    "$root/usr/bin/warpld" -arch=sm_90 examples/saxpy.sm_90.cubin examples/scale.sm_90.cubin -o "$work/linked.cubin"
    "$root/usr/bin/warpld" dump "$work/linked.cubin" >/dev/null
    rm -r "$root"
}

# All crates that cargo links into the command, and the file that cargo binstall would fetch.
check_metadata() { # folder with the files
    cargo metadata --format-version 1 --locked --no-deps >"$work/metadata.json"
    cargo tree -p warpld -e normal,no-proc-macro --prefix none --locked --target all | sed 's/ (.*//' | sort -u >"$work/crates"
    python3 - "$1" "$work" <<'END'
import glob, json, os, re, sys
dist, work = sys.argv[1:]
bill = json.load(open(glob.glob(f"{dist}/*.cdx.json")[0]))
listed = {f"{c['name']} v{c['version']}" for c in bill["components"] if c["scope"] == "required"}
main = bill["metadata"]["component"]
listed.add(f"{main['name']} v{main['version']}")
crates = set(open(f"{work}/crates").read().splitlines())
assert listed == crates, f"the bill of materials and cargo differ: {listed ^ crates}"
package = next(p for p in json.load(open(f"{work}/metadata.json"))["packages"] if p["name"] == "warpld")
binstall = package["metadata"]["binstall"]
values = {"repo": package["repository"], "name": "warpld", "version": package["version"], "target-arch": "x86_64"}
url = re.sub(r"\{ ([a-z-]+) \}", lambda m: values[m[1]], binstall["pkg-url"])
assert os.path.exists(f"{dist}/{os.path.basename(url)}"), f"there is no file for {url}"
END
}

# The same files, built from the sources in a folder elsewhere, by a cargo elsewhere, for a user with other settings.
build_elsewhere() { # folder of the files
    local place=$work/elsewhere/of/another name home=${CARGO_HOME:-$HOME/.cargo}
    rm -rf "$work/elsewhere"
    mkdir -p "$place/sources" "$place/cargo"
    git ls-files -zco --exclude-standard | tar --null --ignore-failed-read -T - -cf - 2>/dev/null | tar -C "$place/sources" -xf -
    for name in registry config.toml git; do
        [ ! -e "$home/$name" ] || ln -s "$(realpath "$home/$name")" "$place/cargo/$name"
    done
    (
        umask 077
        export CARGO_HOME=$place/cargo RUSTUP_HOME=${RUSTUP_HOME:-$HOME/.rustup} CARGO_TARGET_DIR=$place/built
        export TZ=Asia/Tokyo LANG=C.UTF-8 DIST=$1 SOURCE_DATE_EPOCH
        nice "$place/sources/scripts/release.sh" x86_64
    )
    rm -rf "$work/elsewhere"
}

part_packages() {
    if [ "$(uname -m)" != x86_64 ]; then
        echo "not run: packages (this is no x86-64 machine)"
        return 0
    fi
    local one=$work/one two=$work/two command
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct)
    export SOURCE_DATE_EPOCH
    DIST=$one scripts/release.sh x86_64
    command=$(scripts/build-command.sh x86_64 | tail -1)
    check_command "$command"
    (cd "$one" && sha256sum --quiet -c SHA256SUMS)
    check_metadata "$one"
    if compgen -G "$one/*.deb" >/dev/null; then check_package "$one"/*_amd64.deb; fi
    build_elsewhere "$two"
    diff -r "$one" "$two"
    echo "$(find "$one" -type f | wc -l) files are the same from two folders; the command has $(stat -c %s "$command") bytes"
}

part_aarch64() {
    local runner=() command
    need_target aarch64-unknown-linux-gnu "the command for aarch64" || return 0
    if [ "$(uname -m)" != aarch64 ]; then
        need aarch64-libraries "the command for aarch64" || return 0
        need qemu "the command for aarch64" || return 0
        runner=("$tools/qemu-aarch64-static")
        [ -x "${runner[0]}" ] || runner=("$(command -v qemu-aarch64-static)")
    fi
    command=$(scripts/build-command.sh aarch64 | tail -1)
    check_command "$command"
    printf '#!/bin/sh\nexec %s "$@"\n' "${runner[*]} $command" >"$work/warpld-aarch64"
    chmod +x "$work/warpld-aarch64"
    "$differential" replay --warpld "$work/warpld-aarch64" --work "$work/aarch64"
    stat -c 'aarch64: %s bytes' "$command"
}

part_windows() {
    local command folder=$work/windows zig
    need_target x86_64-pc-windows-gnu "the command for Windows" || return 0
    need zig "the command for Windows" || return 0
    zig=$tools
    command=$(scripts/build-command.sh windows | tail -1)
    stat -c 'Windows: %s bytes' "$command"
    need wine "links under wine" || return 0
    PATH=$tools:$PATH
    rm -rf "$folder"
    mkdir -p "$folder"
    cp "$command" "$folder"
    export WINEPREFIX=$folder/prefix WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
    random_numbers "$zig" "$folder"
    # The first start makes the prefix.
    if ! timeout 300 wine64 "$folder/warpld.exe" --version >"$folder/version" 2>"$folder/errors" || ! grep -q warpld "$folder/version"; then
        echo "not run: links under wine (warpld.exe does not start: $(tail -1 "$folder/errors"))"
        return 0
    fi
    # At times wine itself fails when a program ends: with a status that warpld does not have.
    cat >"$folder/warpld" <<END
#!/bin/bash
said=\$(mktemp -d)
trap 'rm -rf "\$said"' EXIT
for attempt in 1 2 3; do
    status=0
    wine64 '$folder/warpld.exe' "\$@" >"\$said/out" 2>"\$said/errors" || status=\$?
    [ \$status -eq 127 ] || break
done
cat "\$said/out"
cat "\$said/errors" >&2
exit \$status
END
    chmod +x "$folder/warpld"
    local part
    for part in ${WINDOWS_CASES:-call weak alias constant}; do
        "$differential" replay "$part" --warpld "$folder/warpld" --work "$folder/work"
    done
}

# Programs of Rust import this, which wine has since release 9.
random_numbers() { # folder of zig, folder of the program
    cat >"$2/random.c" <<'END'
#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size) { return SystemFunction036(data, (ULONG)size); }
END
    ZIG_GLOBAL_CACHE_DIR=$target/linkers/zig ZIG_LOCAL_CACHE_DIR=$target/linkers/zig "$1/python-zig" cc -target x86_64-windows-gnu \
        -shared -O1 -o "$2/bcryptprimitives.dll" "$2/random.c" -ladvapi32
}

parts=("$@")
[ $# -gt 0 ] || parts=(deny workflows packages aarch64 windows)
for part in "${parts[@]}"; do
    declare -F "part_$part" >/dev/null || fail "no part '$part'"
    "part_$part"
done
