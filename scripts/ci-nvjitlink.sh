#!/bin/bash
# Tests libnvJitLink.so.13 and .so.12 of crates/nvjitlink as files: exported names, a C program, LD_PRELOAD,
# memory, and links that must come out as NVIDIA's library makes them.
#
#   scripts/ci-nvjitlink.sh
#
#   PROFILE=dev     use the dev profile
#   TOOLKIT=…       as in scripts/toolkit.sh; without a toolkit nothing is compared
#   SEEDS=0..60     programs to compare, about 9 links each
#   DIFFERENTIAL=…  the program that compares (default: build it)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
work=$target/ci-nvjitlink
profile=${PROFILE:-release}
libraries=$(PROFILE=$profile scripts/build-nvjitlink.sh | tail -1)
rm -rf "$work" && mkdir -p "$work"

# Exported: what the table says, each with the library's name as its version, and nothing else.
for major in 12 13; do
    library=$libraries/libnvJitLink.so.$major
    sed -n 's/^    \([^ ;]*\);$/\1@@libnvJitLink.so.'$major'/p' "crates/nvjitlink/exports/libnvJitLink.so.$major.map" |
        sort >"$work/wanted"
    nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort >"$work/exported"
    diff "$work/wanted" "$work/exported"
    readelf -d "$library" >"$work/dynamic"
    grep -q "SONAME.*\[libnvJitLink.so.$major\]" "$work/dynamic"
done
echo "$(wc -l <"$work/exported") names exported by each library"

# A C program, built against our header, with names of the header's release and with plain ones.
inputs=(examples/saxpy.sm_90.cubin examples/scale.sm_90.cubin)
build() { # NAME MAJOR FLAGS...
    local name=$1 major=$2
    shift 2
    "${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$@" -Icrates/nvjitlink/include crates/nvjitlink/tests/link.c \
        -o "$work/$name" "$libraries/libnvJitLink.so.$major" -Wl,-rpath,"$libraries"
    WARPLD_NVJITLINK=/nonexistent "$work/$name" -arch=sm_90 "$work/$name.cubin" "${inputs[@]}"
    cmp "$work/$name.cubin" "$work/inline.cubin"
}
build inline 13
build plain 13 -DNVJITLINK_NO_INLINE
build newest 13 -DNVJITLINK_RELEASE=13_5
build oldest 12 -DNVJITLINK_RELEASE=12_0
status=0
"$work/inline" -arch=sm_90 "$work/none.cubin" examples/saxpy.sm_90.cubin 2>"$work/errors" || status=$?
[ "$status" = 6 ] && grep -q "^error   : Undefined reference to '_Z5scalef'" "$work/errors"

# Memory: nothing read or written that is not there, nothing lost.
if valgrind=$(scripts/build-tools.sh valgrind 2>/dev/null) || command -v valgrind >/dev/null; then
    PATH=${valgrind:+$valgrind:}$PATH valgrind -q --error-exitcode=99 --leak-check=full --errors-for-leak-kinds=definite,indirect \
        "$work/inline" -arch=sm_90 "$work/checked.cubin" "${inputs[@]}"
    cmp "$work/checked.cubin" "$work/inline.cubin"
else
    echo "not run: valgrind on a link (there is no valgrind)"
fi

# In a process that loads another libnvJitLink by name, as Python programs do; and 1,500 links, whose memory
# must not grow.
LD_PRELOAD=$libraries/libnvJitLink.so.13 WARPLD_NVJITLINK=/nonexistent python3 tests/nvjitlink/preload.py \
    libnvJitLink.so.13 "${inputs[@]}" >"$work/preload"
cat "$work/preload"

# 4 threads × 500 links, and calls in any order.
WARPLD_THREAD_LINKS=500 WARPLD_RANDOM_CALLS=${RANDOM_CALLS:-200000} cargo test -q --profile "$profile" -p warpld-nvjitlink \
    --test calls robust 2>&1 | grep -E '^test result' 

if ! root=$(scripts/toolkit.sh) || [ ! -e "$root/lib/libnvJitLink.so.13" ]; then
    echo "not run: comparison with NVIDIA's libnvJitLink (there is no toolkit)"
    exit
fi
# The same results, logs and bytes as NVIDIA's.
differential=${DIFFERENTIAL:-}
if [ -z "$differential" ]; then
    cargo build -q --profile "$profile" -p differential
    differential=$target/${profile/dev/debug}/differential
fi
"$differential" nvjitlink "$root/lib/libnvJitLink.so.13" "$libraries/libnvJitLink.so.13" --toolkit "$root" \
    --seeds "${SEEDS:-0..64}" --sm classic --work "$target/differential"
