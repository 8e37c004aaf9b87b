#!/bin/bash
# Compiles a corpus of device ELF files from tests/corpus with the real tools, then checks that
#   - every file is valid and comes back byte for byte from reading and writing its model,
#   - `warpld dump --json` agrees with `cuobjdump -elf` on sections, symbols and attributes.
# Prints the counts. Needs scripts/toolkit.sh (set $TOOLKIT to use an installed one).
#
#   scripts/ci-roundtrip.sh [--keep DIR]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
jobs=${JOBS:-2}
least=500
if [ "${1:-}" = --keep ]; then
    work=$2
    mkdir -p "$work"
else
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
fi

cuda=$(scripts/toolkit.sh)
ptxas12=$(scripts/toolkit.sh ptxas12)
targets="75 80 86 87 89 90 90a 100 100a 103 110 120 121"
old_targets="50 52 60 61 70 75 80 86 90 90a 100 100a 120"
mkdir -p "$work/ptx" "$work/out"

# PTX once per source and kind of debug information; only the target line differs afterwards.
to_ptx() {
    local source name mode
    for source in tests/corpus/*.cu; do
        name=$(basename "$source" .cu)
        for mode in plain lineinfo debug; do
            echo "$source $name $mode"
        done
    done
    for source in tests/corpus/*.ptx; do
        cp "$source" "$work/ptx/$(basename "$source" .ptx).plain.ptx"
    done
}
compile_cu() {
    local flags=()
    case $3 in
    lineinfo) flags=(-lineinfo) ;;
    debug) flags=(-G) ;;
    esac
    "$cuda/bin/nvcc" -arch=compute_75 -rdc=true "${flags[@]}" -ptx "$1" -o "$work/ptx/$2.$3.ptx"
    if grep -q 'ifdef RDC' "$1"; then
        "$cuda/bin/nvcc" -arch=compute_75 -rdc=true -DRDC "${flags[@]}" -ptx "$1" \
            -o "$work/ptx/$2.$3.rdc.ptx"
    fi
}

# One line per cubin: assembler, target, PTX, output, further options.
assembler_jobs() {
    local ptx name mode options target suffix
    for ptx in "$work"/ptx/*.ptx; do
        name=$(basename "$ptx" .ptx)
        mode=${name#*.}
        case $mode in
        lineinfo*) options="-lineinfo" ;;
        debug*) options="-g" ;;
        *) options="" ;;
        esac
        for target in $targets; do
            case $name in
            *.rdc) ;;
            *) echo "13 $target $ptx $work/out/$name.$target.exec.cubin $options" ;;
            esac
            case $name in
            object.plain | data.plain) echo "13 $target $ptx $work/out/$name.$target.ewp.cubin -ewp" ;;
            esac
            echo "13 $target $ptx $work/out/$name.$target.rel.cubin -c $options"
        done
        for target in $old_targets; do
            case $name in
            *.rdc) echo "12 $target $ptx $work/out/$name.$target.rel12.cubin -c $options" ;;
            *.plain) echo "12 $target $ptx $work/out/$name.$target.exec12.cubin $options" ;;
            *.lineinfo) echo "12 $target $ptx $work/out/$name.$target.rel12.cubin -c $options" ;;
            esac
        done
    done
}
assemble() {
    local tool target=$2 ptx=$3 output=$4 version=9.0
    case $1 in
    13) tool=$cuda/bin/ptxas ;;
    # 8.8 is what 12.9 reads; nothing in the corpus needs more.
    12) tool=$ptxas12 version=8.8 ;;
    esac
    shift 4
    # Some sources use what the oldest targets do not have: no file then.
    sed -E "s/^\.version .*/.version $version/; s/^\.target sm_[0-9]+/.target sm_$target/" "$ptx" \
        >"$output.ptx"
    "$tool" -arch "sm_$target" "$output.ptx" -o "$output" "$@" >"$output.log" 2>&1 || rm -f "$output"
    rm -f "$output.ptx"
}

link_jobs() {
    local target mode out=$work/out
    for target in $targets; do
        for mode in plain lineinfo debug; do
            echo "$target $out/link-vec.$mode.$target vec.$mode.rdc scale.$mode"
            echo "$target $out/link-object.$mode.$target object.$mode heap.$mode"
            echo "$target $out/link-all.$mode.$target data.$mode sync.$mode grid.$mode tex.$mode"
        done
        echo "$target $out/link-ptx.$target shared.plain weak.plain"
        echo "$target $out/link-texref.$target texref.plain data.plain"
    done
}
link() {
    local target=$1 output=$2 name inputs=()
    shift 2
    for name in "$@"; do
        inputs+=("$work/out/$name.$target.rel.cubin")
    done
    "$cuda/bin/nvlink" -arch "sm_$target" "${inputs[@]}" -o "$output.linked.cubin" \
        >"$output.log" 2>&1 || true
    "$cuda/bin/nvlink" -arch "sm_$target" -r "${inputs[@]}" -o "$output.partial.cubin" \
        >"$output.log" 2>&1 || true
    case $output in
    *.plain.*) set -- --preserve-relocs ;;
    *.debug.*) set -- -g ;;
    *) return 0 ;;
    esac
    "$cuda/bin/nvlink" -arch "sm_$target" "$@" "${inputs[@]}" -o "$output.kept.cubin" \
        >"$output.log" 2>&1 || true
}
dump_one() {
    "$cuda/bin/cuobjdump" -elf "$1" >"$1.cuobjdump" 2>/dev/null || rm -f "$1.cuobjdump"
}

export -f compile_cu assemble link dump_one
export work cuda ptxas12
# A blank at the end of a line would join it with the next one.
each() { sed 's/ *$//' | xargs -P "$jobs" -L 1 bash -c "$1 \"\$@\"" _; }

to_ptx | each compile_cu
assembler_jobs | each assemble
link_jobs | each link
rm -f "$work"/out/*.log

# Only distinct files count.
find "$work/out" -name '*.cubin' -size +0 -print0 | xargs -0 sha256sum | sort | awk 'seen[$1]++ {print $2}' |
    xargs -r rm -f
find "$work/out" -name '*.cubin' -size +0 | sort >"$work/files"
count=$(wc -l <"$work/files")
echo "corpus: $count distinct cubins"
for kind in exec rel ewp linked partial kept exec12 rel12; do
    echo "  $kind: $(grep -c "\.$kind\.cubin$" "$work/files" || true)"
done
if [ "$count" -lt "$least" ]; then
    echo "too few cubins: $count of $least" >&2
    exit 1
fi

xargs cargo run -q --release -p cubin --example roundtrip -- <"$work/files"

cargo build -q --release -p warpld
each dump_one <"$work/files"
binary=$(cargo metadata --format-version 1 --no-deps |
    python3 -c 'import json, sys; print(json.load(sys.stdin)["target_directory"])')/release/warpld
python3 tests/corpus/compare.py "$binary" "$work/files"
