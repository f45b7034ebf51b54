#!/usr/bin/env bash
# What a program answers about every graph at hand, so that a refactoring can be held to change nothing:
#
#   tests/answers.sh build/old/vramplan /tmp/old
#   tests/answers.sh build/release/vramplan /tmp/new
#   diff /tmp/old/hashes /tmp/new/hashes            which answers differ: GRAPH QUESTION HASH
#   diff /tmp/old/unet.onnx.plan /tmp/new/unet.onnx.plan
#
# usage: tests/answers.sh PROGRAM FOLDER [FOLDER-WITH-GRAPHS...]
# Graphs: models/, tests/data/zoo, tests/data/code, and the folders named. Errors, notes and exit codes are answers too.
set -u
(($# >= 2)) || { echo "usage: tests/answers.sh PROGRAM FOLDER [FOLDER-WITH-GRAPHS...]" >&2; exit 2; }
program=$(readlink -f -- "$1") folder=$2
shift 2
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
mkdir -p "$folder" || exit 1
folder=$(cd -- "$folder" && pwd)

ask() { # GRAPH
  local graph=$1 name=${1##*/} dims=() question
  grep -qa sequence "$graph" && dims=(--dim sequence=128)
  local -A questions=(
    [layers]="inspect --dump layers" [parameters]="inspect --dump parameters" [facts]="inspect --format json"
    [train]="estimate --format json --batch 4" [infer]="estimate --mode infer --format json --batch 4"
    [amp]="estimate --precision amp-fp16 --format json --batch 4" [text]="estimate --batch 4 --verbose"
    [trace2]="trace --batch 2 --out -" [trace4]="trace --batch 4 --out -" [fit]="fit --gpu t4" [plan]="plan --gpu t4 --batch 8")
  for question in "${!questions[@]}"; do
    # shellcheck disable=SC2086
    set -- ${questions[$question]}
    (cd "${graph%/*}" && timeout 60 "$program" "$1" "$name" "${@:2}" ${dims[@]+"${dims[@]}"}) >"$folder/$name.$question" 2>&1 </dev/null
    echo "exit $?" >>"$folder/$name.$question"
  done
}
export -f ask
export program folder
find "$root/models" "$root/tests/data/zoo" "$root/tests/data/code" "$@" -name '*.onnx' -print0 | sort -z |
  xargs -0 -P "$(nproc)" -I{} bash -c 'ask "$1"' ask {}
cd -- "$folder" && sha256sum -- *.onnx.* | awk '{graph = $2; sub(/\.onnx\.[a-z0-9]*$/, "", graph); question = $2; sub(/.*\./, "", question);
  print graph, question, substr($1, 1, 16)}' >hashes
wc -l <hashes
