# shellcheck shell=bash
# To be sourced by bash.

# Puts a program of build-tools.sh first in PATH. If it cannot be had, says what is not run and why,
# in the words that .ci/run collects, and fails.
bring() { # program, what is not run without it
    local said status=0
    said=$("$(dirname "${BASH_SOURCE[0]}")/build-tools.sh" "$1" 2>&1) || status=$?
    # The last line is the folder or, after a failure, the reason.
    said=${said##*$'\n'}
    if [ "$status" -ne 0 ]; then
        echo "not run: $2 ($said)"
        return 1
    fi
    PATH=$said:$PATH
}
