# Part of ../build.sh: links the modules written in PTX in several ways, and
# lists the cubins with what their kernels must write.

mkdir -p "$work/ptx/nvlink" "$work/ptx/same"
gcc -O1 -Wall "$here/ptx/loader.c" -o "$out/loader" -ldl -s
list=$out/cubins/list.txt
: >"$list"

# One link by each linker; same bytes or it is counted. The outputs have the
# same name because debug links write that into the file.
link_both() { # name, arguments...
    (cd "$work/ptx/nvlink" && "$CUDA_HOME/bin/nvlink" -arch=$arch "${@:2}" -o "$1")
    (cd "$work/ptx/same" && "$warpld" -arch=$arch --identity=nvlink "${@:2}" -o "$1")
    (cd "$work/ptx" && "$warpld" -arch=$arch "${@:2}" -o "$1")
    if ! cmp -s "$work/ptx/same/$1" "$work/ptx/nvlink/$1"; then
        tell_difference "$1" "$work/ptx/same/$1" "$work/ptx/nvlink/$1"
    fi
}

link_all_ways() { # name, modules, shared bytes, values
    local inputs=() reversed=() module way at=$work/ptx
    for module in $2; do
        "$CUDA_HOME/bin/ptxas" -c -arch=$arch "$here/ptx/$module.ptx" -o "$at/$module.cubin"
        inputs+=("$at/$module.cubin")
        reversed=("$at/$module.cubin" "${reversed[@]}")
    done
    link_both "$1.plain.cubin" "${inputs[@]}"
    link_both "$1.reversed.cubin" "${reversed[@]}"
    link_both "$1.debug.cubin" -g "${inputs[@]}"
    link_both "$1.preserved.cubin" --preserve-relocs "${inputs[@]}"
    link_both "$1.rela.cubin" --force-rela "${inputs[@]}"
    link_both "$1.used.cubin" --kernels-used=run "${inputs[@]}"
    link_both "$1.partial.cubin" -r "${inputs[@]}"
    link_both "$1.relinked.cubin" "$at/$1.partial.cubin"
    for way in plain reversed debug preserved rela used relinked; do
        # nvlink's -r writes the alignment of shared objects in place of their offsets, and so do
        # we: the bytes are compared, but what comes of them cannot run.
        [ "$1.$way" != shared.relinked ] || continue
        cp "$at/$1.$way.cubin" "$out/cubins/"
        echo "$1.$way $3 $4" >>"$list"
    done
    echo "$1: linked in eight ways"
}

while IFS='|' read -r name modules shared values; do
    case $name in '#'* | '') continue ;; esac
    # shellcheck disable=SC2086
    link_all_ways "$(echo $name)" "$(echo $modules)" "$(echo $shared)" "$(echo $values)"
done <"$here/ptx/programs.txt"
