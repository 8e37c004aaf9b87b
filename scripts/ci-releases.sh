#!/bin/bash
# Compares warpld with nvlink of the releases that have no step of their own, byte for byte:
#
#   sample    13.1, 13.2 and 13.3: every named case on one target in turn, random programs, a third of
#             the CUDA C++ programs each; for Blackwell, with 13.4 too, a third of the cases and a ninth of
#             the programs. At least 1,500 links for each.
#   older     objects of each minor release linked by each later one
#   patches   13.0.48, 13.1.80, 13.2.51, 13.2.78, 13.3.33, 13.4.59: warpld against each, and where nvlink
#             writes what that of the last of its minor writes (but for the note), the two nvlinks
#   provisional  13.5, with its libnvJitLink in nvlink's place and the compilers of 13.4: a few links. It is
#             not run where the library cannot be had
#
#   scripts/ci-releases.sh [sample|older|patches|provisional ...]     all of them unless told
#
# Prints the table of docs/releases.md at its end. Fails unless everything agrees but what known.txt and
# known-mercury.txt list.
#
# $TOOLKIT names a folder of installed toolkits, $WARPLD a linker to test, $DIFFERENTIAL the program of
# these tests, $JOBS the number of threads.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
. scripts/differential.sh
tests=tests/differential
ptxas=(--ptxas12 "$(scripts/toolkit.sh ptxas12)" --ptxas120 "$(scripts/toolkit.sh ptxas120)")
mkdir -p "$work"
rows=$work/rows
: >"$rows"
# Links that differ and are not known, in the form of the known lists.
news=$work/new.txt
: >"$news"
failed=0

# The toolkit of a release.
toolkit() {
    case $1 in
    13.5) echo "$work/toolkit-13.5" ;;
    *) scripts/toolkit.sh "$1" ;;
    esac
}

# One run; its row goes to the table as that of the given group.
run() { # group, release, options
    local group=$1 release=$2 log=$work/releases.log
    shift 2
    echo "=== $group: $release $*"
    "$DIFFERENTIAL" run --toolkit "$(toolkit "$release")" "${ptxas[@]}" --work "$work" \
        --jobs "${JOBS:-2}" --known $tests/known.txt --known $tests/known-mercury.txt --list-new "$work/new" "$@" >"$log" 2>&1 ||
        failed=$((failed + 1))
    cat "$work/new" >>"$news" 2>/dev/null || true
    grep -vE '^$|^\|| of [0-9]+ cases, ' "$log" || true
    sed -n "s/^| 13/$group | 13/p" "$log" >>"$rows"
}
warpld=(--warpld "$WARPLD")
cases=(--cases $tests/cases --targets-each 1)
programs=(--cuda $tests/cuda --skip thrust,cub,thrust-cub,thrust-lines)

sample() {
    local minor
    # The classic targets of the newest release have a step of their own.
    for minor in 1 2 3; do
        run classic 13.$minor "${warpld[@]}" --seeds 0..160 "${cases[@]}"
        run classic 13.$minor "${warpld[@]}" "${programs[@]}" --part $minor/3 --targets-each 1
    done
    for minor in 1 2 3 4; do
        run Blackwell 13.$minor "${warpld[@]}" --sm mercury --seeds 1000..1020 "${cases[@]}" --part $((minor % 3 + 1))/3
        run Blackwell 13.$minor "${warpld[@]}" --sm sm_100,sm_120 "${programs[@]}" --part $minor/9 --targets-each 1
    done
}

older() {
    local objects linker part=0
    for objects in 0 1 2 3; do
        for linker in 1 2 3 4; do
            [ $linker -gt $objects ] || continue
            part=$((part + 1))
            run classic 13.$linker "${warpld[@]}" --objects-of "$(scripts/toolkit.sh 13.$objects)" \
                --seeds 0..24 "${cases[@]}" --part $part/5
        done
    done
}

patches() {
    local patch last minor small
    for patch in 13.0.48 13.1.80 13.2.51 13.2.78 13.3.33 13.4.59; do
        last=${patch%.*}
        minor=${last#13.}
        small=(--seeds 20..36 "${cases[@]}" --part "$minor/12")
        run classic $patch "${warpld[@]}" "${small[@]}"
        run Blackwell $patch "${warpld[@]}" --sm mercury "${small[@]}"
        run "classic, two nvlinks" $patch --twin "$(scripts/toolkit.sh $last)" "${small[@]}"
        # For Blackwell 13.0.48 is a release of its own, and 13.2.51 and 13.2.78 are one.
        case $patch in
        13.0.48 | 13.2.78) continue ;;
        13.2.51) last=13.2.78 ;;
        esac
        run "Blackwell, two nvlinks" $patch --twin "$(scripts/toolkit.sh $last)" --sm mercury "${small[@]}"
    done
}

provisional() {
    local library root newest
    root=$(toolkit 13.5)
    if ! library=$(scripts/toolkit.sh nvjitlink 13.5); then
        echo "=== 13.5: not run, there is no libnvJitLink"
        return
    fi
    newest=$(scripts/toolkit.sh 13.4)
    rm -rf "$root"
    mkdir -p "$root/bin" "$root/lib"
    ln -s "$newest"/bin/* "$root/bin/"
    rm "$root/bin/nvlink"
    cp $tests/nvjitlink/nvlink "$root/bin/"
    ln -s "$library" "$root/lib/"
    echo 13.5.37 >"$root/release"
    run classic 13.5 "${warpld[@]}" --sm sm_75,sm_90 --seeds 0..12
    run Blackwell 13.5 "${warpld[@]}" --sm sm_100,sm_120 --seeds 0..12
}

parts=("$@")
[ $# -gt 0 ] || parts=(sample older patches provisional)
for part in "${parts[@]}"; do
    case $part in
    sample | older | patches | provisional) "$part" ;;
    *) echo "usage: $0 [sample|older|patches|provisional ...]" >&2; exit 2 ;;
    esac
done

echo
echo '| release | objects of | targets | links | identical | control bits | both refuse | nvlink fails | differ | of these known |'
echo '|---|---|---|---|---|---|---|---|---|---|'
awk -F ' *[|] *' '{
    key = $2 " | " $3 " | " $1
    if (!(key in seen)) { seen[key] = 1; order[++n] = key }
    for (i = 5; i <= 11; i++) sum[key, i] += $i
    links += $5; differ += $10; known += $11
} END {
    for (k = 1; k <= n; k++) {
        line = "| " order[k]
        for (i = 5; i <= 11; i++) line = line " | " sum[order[k], i]
        print line " |"
    }
    printf "\n%d links of other releases, %d differ (%d of them known)\n", links, differ, known
}' "$rows"
[ "$failed" -eq 0 ]
