#!/usr/bin/env bash
# packaging/budget.sh, and the commands of action.yml and .pre-commit-hooks.yaml, in a repository whose model grows.
set -u
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
command -v git >/dev/null || { echo "git is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/bin" "$folder/repository/models"
ln -s "${VRAMPLAN_BINARY:-$root/build/release/vramplan}" "$folder/bin/vramplan"
export PATH=$folder/bin:$PATH GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null
unset GITHUB_STEP_SUMMARY GITHUB_ACTIONS
cd "$folder/repository" || exit 1
commit() { git add -A && git -c user.name=test -c user.email=test@example.invalid commit -q -m "$1"; }
git init -q .
cp "$root/models/mlp.onnx" models/model.onnx 2>/dev/null || cp "$root/models/resnet50.onnx" models/model.onnx
commit small
wrong=0 checked=0
expect() { # WHAT EXIT-CODE PATTERN COMMAND...
  local what=$1 code=$2 pattern=$3 said got
  shift 3
  said=$("$@" 2>&1)
  got=$?
  ((checked += 1))
  # shellcheck disable=SC2053  # a pattern is meant
  [[ $got == "$code" && $said == $pattern ]] && return
  printf '%s: exit code %s: %s\n' "$what" "$got" "$said"
  ((wrong += 1))
}
budget=$root/packaging/budget.sh
expect 'nothing changed' 0 '*' "$budget" --options '--batch 4' models/model.onnx
cp "$root/models/unet.onnx" models/model.onnx
expect 'it grew' 1 '*|*models/model.onnx takes more GPU memory than the budget of 2% allows*' "$budget" --options '--batch 4' models/model.onnx
expect 'within the budget' 0 '*' "$budget" --budget 100GiB --options '--batch 4' models/model.onnx
expect 'two files, one of them new' 1 '*is new:*' bash -c 'cp models/model.onnx other.onnx; "$0" other.onnx models/model.onnx' "$budget"
expect 'a file that is gone' 0 '' "$budget" gone.onnx
expect 'no such commit' 1 'git knows no nowhere*' "$budget" --base nowhere models/model.onnx
expect 'a wrong option' 2 'usage: *' "$budget" --no-such-option
expect 'a wrong option of vramplan' 1 '*no such option*' "$budget" --options --no-such-option models/model.onnx
rm other.onnx
commit large

# The action: its last step, as a runner runs it; the summary is a file.
step=$(sed -n '/^        read -ra models/,$ s/^        //p' "$root/action.yml")
runner() {
  GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$folder/summary GITHUB_ACTION_PATH=$root MODELS=models/model.onnx BUDGET=$1 BASE=HEAD~1 \
    OPTIONS='--batch 4' bash -e -o pipefail -c "$step"
}
expect 'the action fails' 1 '::error file=models/model.onnx::*' runner 2%
expect 'the action passes' 0 '' runner 100GiB
expect 'the summary has tables' 0 '*|*' cat "$folder/summary"

# The hook: its entry, with the files that pre-commit would give it.
entry=$(sed -n 's/^  entry: //p' "$root/.pre-commit-hooks.yaml") pattern=$(sed -n "s/^  files: '\(.*\)'/\1/p" "$root/.pre-commit-hooks.yaml")
expect 'the hook knows models' 0 $'a.onnx\nb/config.json\nc.pt2' grep -E "$pattern" <<<$'a.onnx\nb/config.json\nc.pt2\nd.py\nmyconfig.json'
expect 'the hook passes' 0 '*' "$root/$entry" models/model.onnx
cp "$root/models/gpt_small.onnx" models/model.onnx
expect 'the hook fails' 1 '*' "$root/$entry" --options '--dim sequence=1024 --batch 4' models/model.onnx
echo "$checked checks, $wrong wrong"
((wrong == 0))
