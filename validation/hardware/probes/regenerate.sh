#!/bin/sh
# Rebuilds sm_90/<theme>.ptx (sm_90a for wgmma), checks that ptxas accepts it, and writes the launches.
# Needs a CUDA 13 toolkit: $CUDA_HOME/bin/nvcc, or nvcc on the PATH. `regenerate.sh THEME...` does only those.
set -eu
cd "$(dirname "$0")"
bin=${CUDA_HOME:+$CUDA_HOME/bin/}
[ $# -gt 0 ] || set -- $(ls ./*.cu | sed 's|^\./||; s|\.cu$||')
for theme in "$@"; do
    target=sm_90
    [ "$theme" != wgmma ] || target=sm_90a
    mkdir -p "$target"
    "${bin}nvcc" -ptx -std=c++17 -arch="compute_${target#sm_}" -o "$target/$theme.ptx" "$theme.cu"
    "${bin}ptxas" -arch="$target" -o /dev/null "$target/$theme.ptx"
done
python3 launches.py
