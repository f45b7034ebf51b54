#!/usr/bin/env bash
# torch_test.sh [PROGRAM [TEST.py ARGUMENTS...]]: vramplan run with a real PyTorch. TEST.py is torch_test.py (scripts and
# their counters), or another one of this folder: zoo_test.py (every model of the accuracy tables), ends_test.py (how
# scripts end), state_test.py (what they hold and read is theirs),
# weights_test.py (models of the Hub whose weights nobody downloads), examples_test.py (the table of docs/scripts-evidence.md).
# Optional: it needs a Python with a CUDA wheel of torch (no GPU), which is VRAMPLAN_TEST_PYTHON, or else python3. Exit
# code 77, and a line that says so: there is none.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
python=${VRAMPLAN_TEST_PYTHON:-python3}
"$python" -c 'import sys, torch; sys.exit(not torch.version.cuda)' 2>/dev/null || {
  echo "no torch for CUDA in $python: VRAMPLAN_TEST_PYTHON names a Python that has it"
  exit 77
}
exec "$python" -u "tests/pretend/${2:-torch_test.py}" "${1:-build/release/vramplan}" "${@:3}"
