#!/usr/bin/env bash
# prepare_instance.sh v1 CATEGORY ONNX VNNLIB: no analysis, only whether the tool and the files are there (non-zero: skip).
# ONNX is a file or, for several networks, a list of pairs: [('name', 'path'), ...].
set -euo pipefail
if [ "$#" -ne 4 ] || [ "$1" != v1 ]; then
  echo "usage: prepare_instance.sh v1 CATEGORY ONNX VNNLIB" >&2
  exit 1
fi
here="$(dirname "$0")"
binary="${ASSAY_BINARY:-$here/../../build/release/bin/assay}"
if [ ! -x "$binary" ]; then
  echo "prepare_instance: $binary is missing; run install_tool.sh v1" >&2
  exit 1
fi
mapfile -t files < <("$here/networks" "$3" | cut -f 2)
for file in "${files[@]}" "$4"; do
  if [ ! -r "$file" ] && [ ! -r "$file.gz" ]; then
    echo "prepare_instance: cannot read $file" >&2
    exit 1
  fi
done
