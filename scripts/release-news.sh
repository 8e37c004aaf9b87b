#!/bin/bash
# Prints how nvlink of one release of CUDA differs from that of another: what a new row of `Release`
# (crates/libwarpld/src/dialect/release.rs) has to hold. CONTRIBUTING.md says what to do with it.
#
#   scripts/release-news.sh OLD NEW     for example 13.3 13.4
#
# $PROFILE is that of the programs in target (release; debug for a quick look). Set $CASES to a part
# of their names to run some cases only, and to `none` to run none.
set -euo pipefail
[ $# -eq 2 ] || { sed -n '2,8p' "$0" | cut -c3- >&2; exit 2; }
here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
old=$("$here/scripts/toolkit.sh" "$1")
new=$("$here/scripts/toolkit.sh" "$2")
bin=$here/target/${PROFILE:-release}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

echo "== 1. Identity: the first fields of the row"
version=$("$new/bin/nvlink" --version)
number=$(sed -n 's/.*, V\([0-9.]*\)$/\1/p' <<<"$version")
echo "        version: \"$number\","
echo "        note_version: \"$(grep '^Cuda compilation' <<<"$version")\","
echo "        note_build: \"$(grep '^Build ' <<<"$version")\","
echo "        toolkit: $(cut -d. -f1,2 <<<"$number" | tr -d .),"

echo "== 2. Options and targets: options/table.rs, dialect/target.rs"
diff <("$old/bin/nvlink" --help) <("$new/bin/nvlink" --help) || true

# Differences but for those that every release makes.
told() { "$bin/warpld" diff "$@" | grep -v '^[AB] is \|^note \|CUDA_API_VERSION' || true; }

echo "== 3. The same object by both linkers, then by each its own: compat_rules.rs, notes, attributes"
for sm in 75 90 90a 100 120; do
    printf '.version 9.0\n.target sm_%s\n.address_size 64\n.visible .entry k() { ret; }\n' "$sm" >"$work/k.ptx"
    for of in old new; do
        "${!of}/bin/ptxas" -c -arch "sm_$sm" "$work/k.ptx" -o "$work/$of.cubin"
        "${!of}/bin/nvlink" -arch="sm_$sm" "$work/$of.cubin" -o "$work/own-$of.cubin"
    done
    "$new/bin/nvlink" -arch="sm_$sm" "$work/old.cubin" -o "$work/both.cubin"
    echo "-- sm_$sm, an object of $1"
    told "$work/own-old.cubin" "$work/both.cubin"
    echo "-- sm_$sm, objects of $1 and $2"
    told "$work/own-old.cubin" "$work/own-new.cubin"
done

echo "== 4. Every image for every target (once there is a row): dialect/target.rs, tests/inputs/matrix-*.txt"
if ! WARPLD_TOOLKIT=$new cargo test -q -p warpld --test inputs every_image >"$work/matrix" 2>&1; then
    grep -m 3 'panicked\|unknown release\|changed its mind' "$work/matrix" || true
    echo "other answers than before; record them with"
    echo "  WARPLD_BLESS=1 WARPLD_TOOLKIT=$new cargo test -p warpld --test inputs every_image"
fi

[ "${CASES:-}" = none ] && exit
echo "== 5. The cases by both linkers, with objects of $1: every difference is a rule to find"
"$bin/differential" case --release "$1" --twin "$2" --work "$work/cases" ${CASES:+"$CASES"} || true
