#!/bin/sh
# Rebuilds the PTX of every kernel for two targets and registers.csv, the register use that ptxas reports.
# Needs a CUDA 13 toolkit: $CUDA_HOME/bin/nvcc, or nvcc on the PATH.
set -eu
cd "$(dirname "$0")"
bin=${CUDA_HOME:+$CUDA_HOME/bin/}
version=$("${bin}ptxas" --version | sed -n 's/.*release [0-9.]*, V//p')

# Turns the report of `ptxas -v` into one csv row per kernel: kernel,target,registers,shared,spill.
rows() {
    sed -n -e "s/.*Compiling entry function '\([^']*\)' for '\([^']*\)'.*/entry \1 \2/p" \
        -e 's/.* \([0-9]*\) bytes spill stores, .*/spill \1/p' \
        -e 's/.*Used \([0-9]*\) registers\(.*\)/used \1 \2/p' |
        awk '$1 == "entry" { kernel = $2; target = $3; spill = 0 }
             $1 == "spill" { spill += $2 }
             $1 == "used" { shared = 0
                            if (match($0, /[0-9]+ bytes smem/)) { split(substr($0, RSTART), w, " "); shared = w[1] }
                            print kernel "," target "," $2 "," shared "," spill }'
}

echo "kernel,target,registers,shared_bytes,spill_bytes,ptxas" >registers.csv
for source in *.cu; do
    for target in 80 90; do
        ptx=sm_$target/${source%.cu}.ptx
        mkdir -p "sm_$target"
        "${bin}nvcc" -ptx -arch=compute_$target -o "$ptx" "$source"
        "${bin}ptxas" -v -arch=sm_$target -o /dev/null "$ptx" 2>&1 | rows | sed -e "s/\$/,$version/" >>registers.csv
    done
done
