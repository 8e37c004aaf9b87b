#!/bin/bash
# Counts the instructions of six links with callgrind and compares them with benches/instructions.txt:
# a slowdown is seen without a clock, on any machine, however busy. Fails if one takes over 5 % more;
# prints by how much less too, and what --verify adds.
#
#   WARPLD=target/release/warpld scripts/instructions.sh            compare
#   WARPLD=target/release/warpld scripts/instructions.sh --bless    write new counts
#
# The inputs are made from the committed fixtures, so no toolkit is needed. $PACK names the example `pack` of
# the crate fatbin, which is built unless it is given. Counts depend a little on
# the compiler and the C library; those of benches/instructions.txt are of a release build. valgrind
# comes from scripts/build-tools.sh if it is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/bring.sh
warpld=$(realpath "${WARPLD:-target/release/warpld}")
counts=benches/instructions.txt
percent=5
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
bring valgrind 'instruction counts' || exit 0

# Copies of fixtures under other names, by turns: the last two letters of every name that others
# see become a number.
copies() { # folder, how many of each, fixtures
    python3 - "$@" <<'END'
import pathlib, struct, sys
folder, fixtures = pathlib.Path(sys.argv[1]), sys.argv[3:]
folder.mkdir()
digits = "0123456789abcdefghijklmnopqrstuvwxyz"
for first, fixture in enumerate(fixtures):
    data = pathlib.Path(fixture).read_bytes()
    (table,) = struct.unpack_from("<Q", data, 40)
    (count,) = struct.unpack_from("<H", data, 60)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + 64 * i) for i in range(count)]
    symbols = next(s for s in sections if s[1] == 2)
    strings = sections[symbols[6]][4]
    ends = []
    for at in range(symbols[4], symbols[4] + symbols[5], 24):
        name, info, _, section = struct.unpack_from("<IBBH", data, at)
        end = data.index(b"\0", strings + name)
        if info >> 4 and section and end - strings - name > 2:
            ends.append(end)
    for i in range(first, int(sys.argv[2]) * len(fixtures), len(fixtures)):
        copy = bytearray(data)
        for end in ends:
            copy[end - 2 : end] = (digits[i // 36] + digits[i % 36]).encode()
        (folder / f"{i:04}.cubin").write_bytes(copy)
END
}

copies "$work/many" 400 tests/fixtures/scale.sm_90.cubin
copies "$work/mercury" 100 tests/fixtures/scale.sm_100.cubin

# Fixtures that have little in common. The originals define what copies refer to.
originals() { # target
    local name
    for name in data dead lines_a object scale lines_b shared switch_a sync texref switch_b textures vec weak; do
        echo "tests/fixtures/$name.sm_$1.cubin"
    done
}
unlike() { # target, folder, how many copies of each
    # shellcheck disable=SC2046
    copies "$2" "$3" $(originals "$1")
    echo "-arch=sm_$1 -w $(originals "$1" | paste -sd ' ') $(echo "$2"/*.cubin)"
}

# The same in fatbins, compressed.
pack=${PACK:-}
if [ -z "$pack" ]; then
    cargo build -q --release -p fatbin --example pack
    pack=${CARGO_TARGET_DIR:-target}/release/examples/pack
fi
packed() { # folder
    # shellcheck disable=SC2046
    "$pack" "$1" $(originals 90) "$work"/unlike/*.cubin
    echo "-arch=sm_90 -w $(echo "$1"/*.fatbin)"
}

# Without the environment: the loader reads all of it, which is 3 % of the smallest link on one machine and
# nothing on another.
count() { # words of a link
    env -i "$(command -v valgrind)" --tool=callgrind --callgrind-out-file=/dev/null "$warpld" "$@" -o "$work/out" --threads=1 --no-fork 2>&1 |
        sed -n 's/.*Collected : *\([0-9]*\).*/\1/p' | grep .
}

declare -A links=(
    [small]="-arch=sm_90 examples/saxpy.sm_90.cubin examples/scale.sm_90.cubin"
    [many]="-arch=sm_90 $(echo "$work"/many/*.cubin)"
    [mercury]="-arch=sm_100 $(echo "$work"/mercury/*.cubin)"
    [unlike]=$(unlike 90 "$work/unlike" 20)
    [unlike-mercury]=$(unlike 100 "$work/unlike-mercury" 5)
)
links[packed]=$(packed "$work/packed")
failed=0
[ "${1-}" != --bless ] || : >"$counts"
for name in small many mercury unlike unlike-mercury packed; do
    # shellcheck disable=SC2086
    now=$(count ${links[$name]})
    # shellcheck disable=SC2086
    verified=$(count ${links[$name]} --verify)
    if [ "${1-}" = --bless ]; then
        echo "$name $now" >>"$counts"
    fi
    before=$(sed -n "s/^$name //p" "$counts")
    change=$(awk -v a="$now" -v b="$before" 'BEGIN {printf "%+.1f", 100 * (a - b) / b}')
    cost=$(awk -v a="$verified" -v b="$now" 'BEGIN {printf "%.1f", 100 * (a - b) / b}')
    echo "$name: $now instructions, $change % against $before; --verify adds $cost %"
    if [ "$now" -gt $((before + before * percent / 100)) ]; then
        echo "$name takes over $percent % more than before" >&2
        failed=1
    fi
done
exit $failed
