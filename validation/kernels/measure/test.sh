#!/bin/sh
# Tests what build.sh made without a GPU: test.sh WARPLENS [OPTION...].
#
# Without a driver the runner must end with 3. With a driver that lets `warplens run` execute it must fill, launch and
# check the cases, by default those of the small size, and write a table that `warplens validate` reads. Options are
# those of the runner.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
WARPLENS=$(realpath "$1")
export WARPLENS
shift
out=$(mktemp -d)
trap 'rm -r "$out"' EXIT
status=0
LD_LIBRARY_PATH="$out" "$here/build/measure" --gpu h100-sxm --out "$out" 2> "$out/said" || status=$?
cat "$out/said"
# A machine that has a GPU measures in earnest instead.
[ "$status" = 3 ] || { echo "this is no test: there is a GPU"; exit 1; }
"${NVCC:-nvcc}" -O2 -std=c++17 -cudart none -cudadevrt none -shared -Xcompiler -fPIC \
    -o "$out/libcuda.so.1" "$here/emulated_driver.cpp"
LD_LIBRARY_PATH="$out" "$here/build/measure" --gpu h100-sxm --out "$out" --size small --repeats 1 --seconds 0 "$@" \
    > "$out/lines"
head -7 "$out/h100-sxm/suite.csv"
"$WARPLENS" validate "$out/h100-sxm/suite.csv" --model roofline | head -12
