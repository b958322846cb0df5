#!/usr/bin/env bash
# install_tool.sh v1: packages and release build.
set -euo pipefail
if [ "${1:-}" != v1 ]; then
  echo "usage: install_tool.sh v1" >&2
  exit 1
fi
cd "$(dirname "$0")/../.."
tools/setup
tools/build release
