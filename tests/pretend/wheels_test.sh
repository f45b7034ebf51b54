#!/usr/bin/env bash
# vramplan run with PyTorch of other CUDA versions: installs each wheel of VRAMPLAN_TEST_WHEELS into a virtual environment
# of its own, which is gone afterwards, and runs torch_test.py and the models of zoo_test.py that need torch alone.
#
#   VRAMPLAN_TEST_WHEELS='2.1.2 2.6.0 2.15.0' tests/pretend/wheels_test.sh [PROGRAM]
#   VRAMPLAN_TEST_WHEELS='2.7.1@https://download.pytorch.org/whl/cu118' ...    from another index than pip's
#   VRAMPLAN_TEST_WHEELS='2.0.1+nvidia-cuda-runtime-cu11==11.8.89' ...         and other versions of what it brought
#
# A wheel takes 3 to 8 GB below TMPDIR while it is tried. Exit code 77, and a line that says so: none is named.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 1
[[ -n ${VRAMPLAN_TEST_WHEELS-} ]] || {
  echo "no wheel is named: VRAMPLAN_TEST_WHEELS='2.1.2 2.6.0 2.15.0' installs these, several GB each"
  exit 77
}
program=${1:-build/release/vramplan}
folder=$(mktemp -d) || exit 1
trap 'rm -rf "$folder"' EXIT
wrong=0
for wheel in $VRAMPLAN_TEST_WHEELS; do
  IFS=+ read -r -a parts <<<"${wheel%%@*}"
  index=()
  [[ $wheel == *@* ]] && index=(--index-url "${wheel#*@}")
  # What was compiled with NumPy 1 does not go with 2.
  numpy=numpy
  [[ ${parts[0]} =~ ^2\.[0-2]\. ]] && numpy='numpy<2'
  python=$folder/bin/python
  python3 -m venv --clear "$folder" && "$python" -m pip install -q --no-compile setuptools "$numpy" &&
    "$python" -m pip install -q --no-compile "${index[@]}" "torch==${parts[0]}" || { echo "FAIL  $wheel cannot be installed"; ((wrong += 1)); continue; }
  for part in "${parts[@]:1}"; do
    "$python" -m pip install -q --no-compile --no-deps "$part" || { echo "FAIL  $part cannot be installed"; ((wrong += 1)); }
  done
  echo "---   $("$python" -c 'import torch; print("torch", torch.__version__, "CUDA", torch.version.cuda, "NCCL", *torch.cuda.nccl.version())')"
  for test in torch_test.py zoo_test.py; do
    VRAMPLAN_TEST_PYTHON=$python tests/pretend/torch_test.sh "$program" "$test" || ((wrong += 1))
  done
done
((wrong == 0))
