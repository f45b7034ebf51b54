#!/usr/bin/env bash
# run.sh TEST.py: a test of the Python module with this build's program. VRAMPLAN_TEST_PYTHON names an interpreter that has torch and
# onnxscript; else python3. Exit code 77, with the reason as the last line, where what it needs is missing.
set -u
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
python=${VRAMPLAN_TEST_PYTHON:-python3}
command -v "$python" >/dev/null || { echo "$python is not installed"; exit 77; }
"$python" -c 'import sys; sys.exit(sys.version_info < (3, 9))' || { echo "Python 3.9 or newer is needed"; exit 77; }
VRAMPLAN_BINARY=${VRAMPLAN_BINARY:-$root/build/release/vramplan} exec "$python" "$root/tests/python/$1"
