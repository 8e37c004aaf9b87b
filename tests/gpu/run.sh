#!/usr/bin/env bash
# Runs what build.sh made, on a machine with a GPU of compute capability 9.0:
# one line a program, then the totals. Needs nothing but the driver.
#
#   tests/gpu/run.sh [FOLDER]      (default: out/ beside this script)
#
# Exit status: 0 all passed, 1 some failed, 77 none could run (no device).
set -u
here=$(cd "$(dirname "$0")" && pwd)
out=${1:-$here/out}
passed=0 failed=0 skipped=0
[ -d "$out/programs" ] || { echo "$out: no programs; run build.sh first" >&2; exit 2; }

verdict() { # name, limit in seconds, command...
    local text status
    text=$(timeout "$2" "${@:3}" 2>&1)
    status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77) skipped=$((skipped + 1)) ;;
    124) failed=$((failed + 1)) text="FAIL $1: not done after $2 seconds${text:+$'\n'$text}" ;;
    *) failed=$((failed + 1))
       case $text in *"FAIL $1"*) ;; *) text="FAIL $1: exit status $status${text:+$'\n'$text}" ;; esac ;;
    esac
    printf '%s\n' "$text"
}

command -v nvidia-smi >/dev/null && nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
for program in "$out"/programs/*; do
    verdict "${program##*/}" 120 "$program"
done
while read -r name shared values; do
    # shellcheck disable=SC2086
    verdict "$name" 60 "$out/loader" "$name" "$out/cubins/$name.cubin" "$shared" $values
done <"$out/cubins/list.txt"
echo "passed $passed, failed $failed, skipped $skipped"
[ "$failed" -eq 0 ] || exit 1
[ "$passed" -gt 0 ] || exit 77
