#!/bin/sh
# Builds the runner and the PTX of all kernels: build.sh [TARGET...], by default for sm_75, sm_80 and sm_90.
#
# Needs nvcc (NVCC names another one), its host compiler and Python 3.11; no GPU. Everything goes to build/, with which
# the runner can be carried to a machine that has a GPU: build/measure --gpu ID.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
nvcc=${NVCC:-nvcc}
python=${PYTHON:-python3}
build=$here/build
mkdir -p "$build"
"$python" "$here/../cases.py" > "$build/cases.tsv"
cp "$here/../expected.csv" "$build/expected.csv"
# Those that tell the clock, the time of a launch and what fills the cache.
cp "$here/../../../crates/gpu/src/clock.ptx" "$build/clock.ptx"
"$nvcc" --version | sed -n 's/^Cuda compilation tools, \(.*\)/nvcc \1/p' > "$build/toolkit.txt"
# The driver is found when the runner starts, and nothing of the runtime is used.
"$nvcc" -O2 -std=c++17 -cudart none -cudadevrt none -o "$build/measure" \
    "$here/measure.cpp" "$here/cases.cpp" "$here/driver.cpp" -ldl -lpthread
for target in ${@:-sm_75 sm_80 sm_90}; do
    mkdir -p "$build/$target"
    "$python" "$here/../cases.py" --sources | while read -r source first; do
        theme=$(basename "$source" .cu)
        if [ "${target#sm_}" -ge "$first" ]; then
            "$nvcc" -ptx -arch="compute_${target#sm_}" -std=c++17 -o "$build/$target/$theme.ptx" "$here/../$source"
            # Assembled here, so that what the driver would refuse shows before.
            "$nvcc" -cubin -arch="$target" -o "$build/$target/$theme.cubin" "$build/$target/$theme.ptx"
            rm "$build/$target/$theme.cubin"
        fi
    done
    echo "$target: $(ls "$build/$target" | wc -l) sources"
done
