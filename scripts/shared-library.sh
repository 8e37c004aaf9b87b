# shellcheck shell=bash
# For scripts that make a shared library of the static one of crates/nvjitlink; they read it by `.`, in the repository's
# root. $PROFILE, $TARGET and $CC are as those scripts say.
profile=${PROFILE:-release}
target=$(realpath -m "${CARGO_TARGET_DIR:-target}")

# The folder of what is made.
library_folder() { # name
    echo "$target/$1/${TARGET:+$TARGET/}$profile"
}

# Builds the static library. Its path is then in $archive.
static_library() {
    local folder=$profile
    [ "$profile" != dev ] || folder=debug
    cargo build -q --profile "$profile" -p warpld-nvjitlink --lib ${TARGET:+--target "$TARGET"}
    archive=$target/${TARGET:+$TARGET/}$folder/libwarpld_nvjitlink.a
}

# Makes a shared library, which appears at once or not at all. A thread of a link may still end when a program unloads
# it: nodelete.
shared_library() { # file, version script, what goes into it
    local file=$1 exports=$2
    shift 2
    "${CC:-cc}" -shared -o "$file.new" -Wl,-soname,"${file##*/}" -Wl,--version-script="$exports" "$@" \
        -Wl,--gc-sections -Wl,-z,nodelete -Wl,-z,relro,-z,now -Wl,--strip-all -Wl,--no-undefined \
        -lpthread -ldl -lm -lc -lgcc_s
    mv "$file.new" "$file"
}
