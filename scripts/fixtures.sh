#!/bin/bash
# Compiles the committed device ELF files again: tests/fixtures (from tests/corpus) and the example
# objects. Needs scripts/toolkit.sh. The tools are deterministic; no change means no difference.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cuda=$(scripts/toolkit.sh)
newest=$(scripts/toolkit.sh 13.4)
ptxas12=$(scripts/toolkit.sh ptxas12)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

ptx() { # source, output, further options
    local source=$1 output=$2
    shift 2
    case $source in
    *.cu) "$cuda/bin/nvcc" -arch=compute_75 -rdc=true "$@" -ptx "$source" -o "$output" ;;
    *) cp "$source" "$output" ;;
    esac
}
assemble() { # tool, target, PTX, output, further options
    local tool=$1 target=$2 input=$3 output=$4 version=9.0
    shift 4
    case $tool in
    "$ptxas12") version=8.8 ;;
    "$newest"/*) version=9.4 ;;
    esac
    sed -E "s/^\.version .*/.version $version/; s/^\.target sm_[0-9]+/.target sm_$target/" "$input" \
        >"$work/input.ptx"
    "$tool" -arch "sm_$target" "$work/input.ptx" -o "$output" "$@"
}

fixtures=tests/fixtures
rm -f $fixtures/*.cubin examples/*.cubin
for source in tests/corpus/*.cu tests/corpus/*.ptx; do
    name=$(basename "${source%.*}")
    ptx "$source" "$work/$name.ptx" -DRDC
done

for target in 75 90 100; do
    for name in vec scale data object sync weak shared texref boards waits; do
        assemble "$cuda/bin/ptxas" $target "$work/$name.ptx" $fixtures/$name.sm_$target.cubin -c
    done
    link() { "$cuda/bin/nvlink" -arch sm_$target "$@"; }
    link $fixtures/{vec,scale}.sm_$target.cubin -o $fixtures/linked-vec.sm_$target.cubin
    link $fixtures/{object,data,sync}.sm_$target.cubin -o $fixtures/linked-object.sm_$target.cubin \
        2>/dev/null
    for name in boards waits; do
        link $fixtures/$name.sm_$target.cubin -o $fixtures/linked-$name.sm_$target.cubin
    done
    link -r $fixtures/{weak,shared}.sm_$target.cubin -o $fixtures/partial.sm_$target.cubin
done
assemble "$cuda/bin/ptxas" 90a "$work/scale.ptx" $fixtures/scale.sm_90a.exec.cubin
assemble "$cuda/bin/ptxas" 120 "$work/shared.ptx" $fixtures/shared.sm_120.lines.cubin -lineinfo
assemble "$cuda/bin/ptxas" 110 "$work/weak.ptx" $fixtures/weak.sm_110.exec.cubin -lineinfo
# Objects that belong together, for links of damaged ones.
related=tests/corpus/links
for target in 90 100; do
    for name in switch_a switch_b textures dead; do
        assemble "$cuda/bin/ptxas" $target $related/$name.ptx $fixtures/$name.sm_$target.cubin -c
    done
    for name in lines_a lines_b; do
        assemble "$cuda/bin/ptxas" $target $related/$name.ptx $fixtures/$name.sm_$target.cubin \
            -c -lineinfo
    done
done
assemble "$cuda/bin/ptxas" 90 $related/unified.ptx $fixtures/unified.sm_90.cubin -c
# Textures that machine code has as calls, and Mercury code has not.
assemble "$newest/bin/ptxas" 107 "$work/texref.ptx" $fixtures/texref.sm_107.cubin -c
assemble "$newest/bin/ptxas" 107 $related/texture_object.ptx $fixtures/texture_object.sm_107.cubin -c
# Debug information names the folder.
mkdir -p /tmp/corpus
cp $related/debug.cu /tmp/corpus
(cd /tmp/corpus && ptx debug.cu "$work/debug.ptx" -G)
rm -r /tmp/corpus
assemble "$cuda/bin/ptxas" 100 "$work/debug.ptx" $fixtures/debug.sm_100.cubin -c -g

for target in 50 70 90a 100a; do
    for name in scale object; do
        assemble "$ptxas12" $target "$work/$name.ptx" $fixtures/$name.sm_$target.cuda12.cubin -c
    done
    assemble "$ptxas12" $target "$work/data.ptx" $fixtures/data.sm_$target.cuda12.exec.cubin
done

for name in saxpy scale; do
    ptx examples/$name.cu "$work/$name.ptx"
    for target in 80 90 100; do
        assemble "$cuda/bin/ptxas" $target "$work/$name.ptx" examples/$name.sm_$target.cubin -c
    done
done
du -cb $fixtures/*.cubin examples/*.cubin | tail -1
