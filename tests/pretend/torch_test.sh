#!/usr/bin/env bash
# vramplan run with a real PyTorch: tests/pretend/torch_test.py. Optional: it needs a Python with a CUDA wheel of torch
# (no GPU), which is VRAMPLAN_TEST_PYTHON, or else python3. Exit code 77, and a line that says so: there is none.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
python=${VRAMPLAN_TEST_PYTHON:-python3}
"$python" -c 'import sys, torch; sys.exit(not torch.version.cuda)' 2>/dev/null || {
  echo "no torch for CUDA in $python: VRAMPLAN_TEST_PYTHON names a Python that has it"
  exit 77
}
exec "$python" -u tests/pretend/torch_test.py "${1:-build/release/vramplan}"
