#!/bin/bash
# Makes the files of a release, in target/dist unless $DIST names another folder.
#
#   scripts/release.sh                     all of them
#   scripts/release.sh x86_64 windows      for these platforms only: x86_64, aarch64, windows, wheels
#
# For each platform a tar file, or for Windows a zip file, with the command, man pages, completions, documents and
# licences; for Linux also a Debian package of the same. The Python wheels. A bill of materials (CycloneDX), and
# SHA256SUMS of everything. No file depends on the folder, the time or the user: for one commit, one Rust toolchain and one
# libc.a they have the same bytes.
set -euo pipefail
umask 022
cd "$(dirname "${BASH_SOURCE[0]}")/.."
export LC_ALL=C TZ=UTC
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
dist=$(realpath -m "${DIST:-$target/dist}")
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"/\1/p' Cargo.toml)
platforms=("$@")
[ $# -gt 0 ] || platforms=(x86_64 aarch64 windows wheels)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
rm -rf "$dist"
mkdir -p "$dist"

# What lies beside the command: written once, by the command for this machine.
pages() {
    local command=$1 to=$work/pages
    mkdir -p "$to/completions"
    "$command" man "$to/man"
    "$command" completions bash >"$to/completions/warpld.bash"
    "$command" completions zsh >"$to/completions/_warpld"
    "$command" completions fish >"$to/completions/warpld.fish"
}

# Files of one folder with the time of the commit.
settle() { # folder
    find "$1" -exec touch -h -d "@$SOURCE_DATE_EPOCH" {} +
    find "$1" -type d -exec chmod 755 {} +
}

# A folder with everything, as it is unpacked from the tar or zip file.
folder() { # command, name of the folder
    local to=$work/$2
    mkdir -p "$to"
    install -m 755 "$1" "$to"
    cp -r "$work/pages/man" "$work/pages/completions" "$to"
    install -m 644 README.md CHANGELOG.md SECURITY.md LICENSE-MIT LICENSE-APACHE "$to"
    settle "$to"
}

tar_file() { # name of the folder
    tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime="@$SOURCE_DATE_EPOCH" --format=ustar -cf - "$1" |
        gzip -9n >"$dist/$1.tar.gz"
}

zip_file() { # name of the folder
    (cd "$work" && find "$1" -type f | sort) | python3 -c '
import sys, time, zipfile
root, out, epoch = sys.argv[1:]
when = time.gmtime(int(epoch))[:6]
with zipfile.ZipFile(out, "w") as file:
    for name in sys.stdin.read().splitlines():
        entry = zipfile.ZipInfo(name, when)
        entry.external_attr = (0o755 if name.endswith(".exe") else 0o644) << 16
        entry.compress_type = zipfile.ZIP_DEFLATED
        with open(f"{root}/{name}", "rb") as content:
            file.writestr(entry, content.read(), compresslevel=9)
' "$work" "$dist/$1.zip" "$SOURCE_DATE_EPOCH"
}

copyright() {
    cat <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: warpld
Source: https://github.com/warpld/warpld

Files: *
Copyright: 2026 The warpld contributors
License: Expat or Apache-2.0
Comment: The command contains the crates that the file warpld.cdx.json lists, with their licences.

License: Expat
END
    sed -e 's/^$/./' -e 's/^/ /' LICENSE-MIT
    cat <<END

License: Apache-2.0
 On Debian systems, the text of the Apache License 2.0 is in
 /usr/share/common-licenses/Apache-2.0.
END
}

control() { # architecture, folder
    cat <<END
Package: warpld
Version: $version
Architecture: $1
Maintainer: The warpld developers <warpld@users.noreply.github.com>
Installed-Size: $(find "$2" -type f -printf '%s\n' | awk '{sum += int(($1 + 1023) / 1024)} END {print sum}')
Section: devel
Priority: optional
Homepage: https://github.com/warpld/warpld
Description: linker for CUDA device code
 warpld links relocatable device code for NVIDIA GPUs. It is a replacement for
 nvlink with the same command line and the same output, needs no CUDA toolkit,
 and explains what it did: link maps, resource use, why code is in the output.
END
}

debian_package() { # command, architecture
    local root=$work/deb-$2 doc page
    doc=$root/usr/share/doc/warpld
    mkdir -p "$root/DEBIAN" "$root/usr/bin" "$doc" "$root/usr/share/man/man1" "$root/usr/share/bash-completion/completions" \
        "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
    install -m 755 "$1" "$root/usr/bin/warpld"
    for page in "$work"/pages/man/*.1; do
        gzip -9nc "$page" >"$root/usr/share/man/man1/$(basename "$page").gz"
    done
    install -m 644 "$work/pages/completions/warpld.bash" "$root/usr/share/bash-completion/completions/warpld"
    install -m 644 "$work/pages/completions/_warpld" "$root/usr/share/zsh/vendor-completions"
    install -m 644 "$work/pages/completions/warpld.fish" "$root/usr/share/fish/vendor_completions.d"
    install -m 644 README.md SECURITY.md "$work/warpld.cdx.json" "$doc"
    gzip -9nc CHANGELOG.md >"$doc/changelog.gz"
    copyright >"$doc/copyright"
    control "$2" "$root/usr" >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f | sort | xargs md5sum) >"$root/DEBIAN/md5sums"
    settle "$root"
    # One thread: more of them compress in blocks.
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$dist/warpld_${version}_$2.deb" >&2
}

platform() { # x86_64, aarch64, windows
    local command architecture
    command=$(scripts/build-command.sh "$1" | tail -1)
    case $1 in
    x86_64) architecture=amd64 ;;
    aarch64) architecture=arm64 ;;
    windows)
        folder "$command" "warpld-$version-x86_64-pc-windows-gnu"
        zip_file "warpld-$version-x86_64-pc-windows-gnu"
        return
        ;;
    esac
    folder "$command" "warpld-$version-$1-unknown-linux-gnu"
    tar_file "warpld-$version-$1-unknown-linux-gnu"
    if command -v dpkg-deb >/dev/null; then
        debian_package "$command" "$architecture"
    else
        echo "not run: Debian package for $1 (there is no dpkg-deb)"
    fi
}

cargo tree -p warpld -e normal,build --target all --prefix none --locked >"$work/crates"
cargo metadata --format-version 1 --locked | scripts/sbom.py Cargo.lock "$work/crates" >"$work/warpld.cdx.json"
cp "$work/warpld.cdx.json" "$dist/warpld-$version.cdx.json"
if [ "${platforms[*]}" != wheels ]; then
    pages "$(scripts/build-command.sh | tail -1)"
fi
for platform in "${platforms[@]}"; do
    case $platform in
    x86_64 | aarch64 | windows) platform "$platform" ;;
    wheels)
        for machine in x86_64 aarch64; do
            cp "$(scripts/build-wheel.sh "$machine" | tail -1)" "$dist"
        done
        ;;
    *)
        echo "usage: $0 [x86_64|aarch64|windows|wheels]..." >&2
        exit 2
        ;;
    esac
done
(cd "$dist" && sha256sum -- * >"$work/SHA256SUMS" && mv "$work/SHA256SUMS" .)
ls -l "$dist" >&2
echo "$(find "$dist" -type f | wc -l) files in $dist"
