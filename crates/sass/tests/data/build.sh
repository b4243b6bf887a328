#!/bin/sh
# Rebuilds the cubins, fatbins and objects of this folder, and resource_usage.txt, what cuobjdump says of the cubins.
# Needs nvcc, ptxas and nvlink of CUDA 13.0 and cuobjdump of 13.5 ($CUDA_HOME/bin, or on the PATH), and for the older layout of
# cubins ptxas 12.3 ($PTXAS_12: it is in the package nvidia-cuda-nvcc-cu12 12.3.107 of Python's index).
set -eu
cd "$(dirname "$0")"
examples=$PWD/../../../../examples
bin=${CUDA_HOME:+$CUDA_HOME/bin/}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp ./*.cu "$work"
for name in vector_add matmul_tiled reduction_shuffle; do
    cp "$examples/$name/$name.cu" "$work"
done
out=$PWD
cd "$work"
nvcc() { "${bin}nvcc" "$@"; }

for target in 75 90a 120; do
    for name in vector_add matmul_tiled reduction_shuffle parts; do
        nvcc -cubin -arch=sm_$target -o "$out/${name}_$target.cubin" $name.cu
    done
    nvcc -cubin -rdc=true -arch=sm_$target -o "$out/parts_rdc_$target.cubin" parts.cu
done
"${bin}nvlink" -arch=sm_90a -o "$out/parts_linked_90a.cubin" "$out/parts_rdc_90a.cubin"
nvcc -cubin -arch=sm_100f -o "$out/vector_add_100f.cubin" vector_add.cu
nvcc -cubin -arch=sm_90 -o "$out/launches_90.cubin" launches.cu

# With lines: the PTX names the source by a path of this machine and the time of its last change, which are replaced.
for target in 75 90a; do
    nvcc -ptx -lineinfo -arch=sm_$target -o inline_$target.ptx inline.cu
    sed -i -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+")[^"]*/([^"/]*").*|\1/source/\2|' inline_$target.ptx
    "${bin}ptxas" -lineinfo -arch=sm_$target -o "$out/inline_$target.cubin" inline_$target.ptx
done

# The older layout.
nvcc -ptx -arch=sm_75 -o parts.ptx parts.cu
for target in 75 90a; do
    sed -e 's/^\.version .*/.version 8.3/' -e "s/^\.target .*/.target sm_$target/" parts.ptx >parts_12.ptx
    "${PTXAS_12:-ptxas-12.3}" -arch=sm_$target -o "$out/parts_${target}_12.cubin" parts_12.ptx
done

# Containers: packed in each way, and in an object and a program of the host.
codes="-gencode arch=compute_75,code=sm_75 -gencode arch=compute_120,code=[sm_120,compute_120]"
for mode in none speed size; do
    # shellcheck disable=SC2086 # The words of $codes are separate.
    nvcc -fatbin $codes --compress-mode $mode -Xptxas -O2 -o "$out/vector_add_$mode.fatbin" vector_add.cu
done
nvcc -c -rdc=true -arch=sm_75 --compress-mode size -o "$out/parts_rdc.o" parts.cu
nvcc -c -arch=sm_75 --compress-mode size -o "$out/vector_add.o" vector_add.cu

for cubin in "$out"/*.cubin; do
    echo "== $(basename "$cubin")"
    "${bin}cuobjdump" -res-usage "$cubin" 2>&1 | grep -E '^ +(Function |REG:|GLOBAL:|CONSTANT)'
done >"$out/resource_usage.txt"
