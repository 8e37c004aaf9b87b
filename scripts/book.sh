#!/bin/bash
# Builds docs/ as a book into target/book and checks every link in it.
#
# mdBook is installed from crates.io into target/mdbook, once per version: without optimisation and
# without the parts that serve and watch, which takes a minute on two cores.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
version=0.5.4
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
tool=$target/mdbook/$version
book=$target/book

if [ ! -x "$tool/bin/mdbook" ]; then
    CARGO_PROFILE_DEV_DEBUG=0 cargo install -q --locked --debug --no-default-features \
        --features search --target-dir "$tool/build" --root "$tool" "mdbook@$version"
    rm -rf "$tool/build"
fi

rm -rf "$book"
log=$("$tool/bin/mdbook" build docs --dest-dir "$book" 2>&1) || { echo "$log" >&2; exit 1; }
# mdBook goes on after a warning, such as one about an unclosed tag.
if grep -E 'WARN|ERROR' <<<"$log" >&2; then exit 1; fi
WARPLD_BOOK=$book cargo test -q -p warpld --test doc_links -- --include-ignored
echo "$(find "$book" -name '*.html' | wc -l) pages: $book/index.html"
