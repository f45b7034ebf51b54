#!/usr/bin/env bash
# budget.sh [--base REF] [--budget 2%] [--options "..."] FILE...: how much more GPU memory each model takes than at REF (HEAD),
# as `vramplan diff` says. FILE: an .onnx or .pt2 file, a config.json, or an answer of `vramplan estimate --format json`.
# Exit code 0: no peak grew beyond the budget; 1: one did, or could not be told. Where GITHUB_STEP_SUMMARY names a file, the
# tables go there, else to stdout. The action and the pre-commit hook of this repository are this script.
set -u
base=HEAD budget=2% options=()
while (($#)); do
  case $1 in
    --base) base=$2; shift 2 ;;
    --budget) budget=$2; shift 2 ;;
    --options) read -ra options <<<"$2"; shift 2 ;;
    --) shift; break ;;
    -*) echo "usage: budget.sh [--base REF] [--budget 2%] [--options \"...\"] FILE..." >&2; exit 2 ;;
    *) break ;;
  esac
done
command -v vramplan >/dev/null || { echo "vramplan is not installed" >&2; exit 1; }
git rev-parse --verify --quiet "$base^{commit}" >/dev/null || { echo "git knows no $base (does the checkout fetch it?)" >&2; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# The file as it was, under its own name; what git-lfs keeps is fetched.
before() {
  mkdir -p "$folder/before"
  git show "$base:./$1" >"$folder/before/${1##*/}" 2>/dev/null || return
  if head -c 40 "$folder/before/${1##*/}" | grep -q '^version https://git-lfs'; then
    git lfs smudge <"$folder/before/${1##*/}" >"$folder/smudged" && mv "$folder/smudged" "$folder/before/${1##*/}"
  fi
}

bad=0
for file; do
  [[ -f $file ]] || continue  # removed
  rm -rf "$folder/before"
  if before "$file"; then
    vramplan diff "$folder/before/${file##*/}" "$file" --budget "$budget" --format markdown "${options[@]}" >"$folder/answer" 2>"$folder/notes"
  else
    { echo "**$file** is new:" && vramplan estimate "$file" "${options[@]}" 2>"$folder/notes" | head -n 1; } >"$folder/answer"
    (exit "${PIPESTATUS[0]}")
  fi
  code=$?
  cat "$folder/answer" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
  ((code == 0)) && continue
  bad=1
  case $code in
    3) said="$file takes more GPU memory than the budget of $budget allows: $(head -n 1 "$folder/answer")" ;;
    *) said="$file: $(tail -n 1 "$folder/notes")" ;;
  esac
  if [[ -n ${GITHUB_ACTIONS-} ]]; then echo "::error file=$file::$said"; else echo "$said" >&2; fi
done
exit $bad
