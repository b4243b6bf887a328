#!/bin/sh
# Rebuilds ptx/sm_XX/<name>.ptx for the targets that each <name>.toml lists and checks that ptxas accepts the result.
# A first line `// nvcc: FLAGS` in the source adds flags. Needs a CUDA 13 toolkit: $CUDA_HOME/bin/nvcc, or nvcc on the PATH.
# `regenerate.sh NAME...` does only those.
set -eu
cd "$(dirname "$0")"
bin=${CUDA_HOME:+$CUDA_HOME/bin/}
[ $# -gt 0 ] || set -- $(ls ./*.cu | sed 's|^\./||; s|\.cu$||')
for name in "$@"; do
    flags=$(sed -n '1s|^// nvcc: ||p' "$name.cu")
    for target in $(sed -n 's/^ptx = \[\(.*\)\]/\1/p' "$name.toml" | tr -d '",'); do
        mkdir -p "ptx/$target"
        ptx=ptx/$target/$name.ptx
        "${bin}nvcc" -ptx -lineinfo $flags -arch="compute_${target#sm_}" -o "$ptx" "$name.cu"
        # The line table names files by their full path; only the file name means something elsewhere.
        sed -i -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+")[^"]*/|\1|' "$ptx"
        "${bin}ptxas" -arch="$target" -o /dev/null "$ptx"
    done
done
