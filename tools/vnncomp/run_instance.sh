#!/usr/bin/env bash
# run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT
#
# Line 1 of RESULTS: sat, unsat, unknown, timeout or error; on sat the assignment follows as the tool prints it, for VNN-LIB 1
# one list ((X_0 v) ... (Y_0 v) ...), for VNN-LIB 2 a header and the values per variable. Exit 0 whenever RESULTS was written: any
# other status would overrule the verdict. CATEGORY is ignored. ASSAY_BINARY names another binary than the release build's.
set -uo pipefail

if [ "$#" -ne 6 ] || [ "$1" != v1 ]; then
  echo "usage: run_instance.sh v1 CATEGORY ONNX VNNLIB RESULTS TIMEOUT" >&2
  exit 1
fi
here="$(dirname "$0")"
binary="${ASSAY_BINARY:-$here/../../build/release/bin/assay}"
onnx="$3" property="$4" results="$5" timeout="$6"
scratch="$(mktemp -d)" || exit 1
trap 'rm -rf "$scratch"' EXIT

# The benchmark may store a property only as .gz.
if [ ! -r "$property" ] && [ -r "$property.gz" ]; then
  property="$property.gz"
fi

publish() {  # in one step, so that a kill never leaves half a file
  mkdir -p "$(dirname "$results")" && cp "$scratch/results" "$results.part" && mv -f "$results.part" "$results"
}

networks="$("$here/networks" "$onnx")" || networks=""
if [[ "$onnx" == \[* ]]; then
  arguments=("$property")
  while IFS=$'\t' read -r name path; do arguments+=(--network "$name=$path"); done <<<"$networks"
else
  arguments=("$onnx" "$property")
fi

# The tool keeps its own deadline; the second one is for a tool that does not come back, and stays within the 60 s of grace.
timeout --kill-after=5 "$(awk -v t="$timeout" 'BEGIN { print t + 10 }')" \
  "$binary" verify "${arguments[@]}" --timeout "$timeout" >"$scratch/out" 2>"$scratch/err"
status=$?
cat "$scratch/err" >&2
verdict="$(head -n 1 "$scratch/out" | tr -d '\r')"
case "$verdict" in
  sat) cp "$scratch/out" "$scratch/results" ;;  # the assignment follows in the form that the property's version asks for
  unsat | unknown) echo "$verdict" >"$scratch/results" ;;
  timed-out | timeout) echo timeout >"$scratch/results" ;;
  *)
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then echo timeout; else echo error; fi >"$scratch/results"
    echo "run_instance: assay ended with status $status and printed no verdict" >&2 ;;
esac
publish || { echo "run_instance: cannot write $results" >&2; exit 1; }
exit 0
