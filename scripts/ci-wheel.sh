#!/bin/bash
# Builds the Python wheel, installs it into a clean environment, and runs its tests there: the command, the module, and
# libnvJitLink preloaded and by warpld.use_as_nvjitlink(). Then the same with cuda.bindings installed.
#
# $PROFILE is that of the build (release unless set), $WORK the folder for the environment.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
work=$(realpath -m "${WORK:-${CARGO_TARGET_DIR:-target}/ci-wheel}")
wheel=$(scripts/build-wheel.sh | tail -1)
rm -rf "$work"
python3 -m venv "$work"
"$work/bin/pip" install -q --disable-pip-version-check "$wheel" pytest==9.2.0
# Not from the folder of the sources.
run() { (cd "$work" && env -u LD_PRELOAD -u LD_LIBRARY_PATH bin/python -m pytest -q -p no:cacheprovider "$@" "$tests"); }
tests=$PWD/python/tests
"$work/bin/warpld" --version
run
"$work/bin/pip" install -q --disable-pip-version-check cuda-bindings==13.4.4
run -k cuda_bindings --strict-markers
stat -c "$(basename "$wheel"): %s bytes" "$wheel"
rm -rf "$work"
