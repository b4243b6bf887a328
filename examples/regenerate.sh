#!/bin/sh
# Rebuilds the PTX of every example for five targets and registers.csv, the register use that ptxas reports; and all
# variants of fmm_ulist for two targets, without line numbers to keep them small; and the cubins of those that have some.
# Needs a CUDA 13 toolkit: $CUDA_HOME/bin/nvcc, or nvcc on the PATH.
set -eu
cd "$(dirname "$0")"
bin=${CUDA_HOME:+$CUDA_HOME/bin/}
targets="75 80 90 100 120"
csv=$PWD/registers.csv
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

echo "example,kernel,target,registers,shared_bytes,spill_bytes,ptxas" >"$csv"
for folder in */; do
    name=${folder%/}
    [ -f "$name/$name.cu" ] || continue
    (
        cd "$name"
        mkdir -p ptx
        for target in $targets; do
            "${bin}nvcc" -ptx -lineinfo -arch=compute_$target -o "ptx/sm_$target.ptx" "$name.cu"
            # The line table names files by their full path; only the file name means something elsewhere.
            sed -i -E 's|^([[:space:]]*\.file[[:space:]]+[0-9]+[[:space:]]+")[^"]*/|\1|' "ptx/sm_$target.ptx"
            cubin=/dev/null
            # Some are there as machine code, too.
            case $target in 75 | 90 | 120) [ ! -d cubin ] || cubin=cubin/sm_$target.cubin ;; esac
            "${bin}ptxas" -v -lineinfo -arch=sm_$target -o "$cubin" "ptx/sm_$target.ptx" 2>&1 |
                rows | sed -e "s/^/$name,/" -e "s/\$/,$version/" >>"$csv"
        done
    )
done

for target in 80 90; do
    mkdir -p fmm_ulist/all
    "${bin}nvcc" -ptx -DALL -arch=compute_$target -o "fmm_ulist/all/sm_$target.ptx" fmm_ulist/fmm_ulist.cu
done
