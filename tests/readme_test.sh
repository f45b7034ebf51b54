#!/usr/bin/env bash
# Runs the commands of README.md, docs/*.md and skills/*/SKILL.md and compares what they print. Checked are the fenced blocks opened by
# ```console checked:
#
#     $ ./vramplan fit models/unet.onnx --gpu t4     a command, run in the root of the repository
#     fits: ...                                      what it prints, stdout and stderr together
#     ...                                            any number of lines
#
# tests/readme_test.sh --update writes the real output into the files (blocks with a `...` are left as they are).
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
update=false
[[ ${1-} == --update ]] && update=true
export LC_ALL=C.UTF-8                  # bars are drawn by what the terminal can show
./vramplan --version >/dev/null 2>&1  # what the launcher says while it builds is no answer

checked=0 wrong=0 page="" rewritten=""
emit() { rewritten+=$1$'\n'; }

# A line `...` of what is expected becomes `*`, everything else stands for itself.
as_pattern() { sed -e 's/[][*?\\()|+@!]/\\&/g' -e 's/^\.\.\.$/*/' <<<"$1"; }

check() { # COMMAND EXPECTED
  local actual pattern
  actual=$(bash -c "$1" </dev/null 2>&1)
  pattern=$(as_pattern "$2")
  # The line breaks around a `*` belong to it, so that it can stand for no line at all.
  pattern=${pattern//$'\n*\n'/$'\n*'}
  pattern=${pattern/%$'\n*'/'*'}
  pattern=${pattern/#$'*\n'/'*'}
  ((checked += 1))
  # shellcheck disable=SC2053  # a pattern is meant
  if [[ $actual == $pattern ]]; then
    [[ -n $2 ]] && emit "$2"
  elif $update && [[ $'\n'$2$'\n' != *$'\n...\n'* ]]; then
    [[ -n $actual ]] && emit "$actual"
  else
    ((wrong += 1))
    [[ -n $2 ]] && emit "$2"
    printf '%s: %s\n' "$page" "$1"
    diff -u --label "$page" --label output <(printf '%s\n' "$2") <(printf '%s\n' "$actual")
  fi
}

command='' expected=''
close() {
  [[ -n $command ]] && check "$command" "${expected%$'\n'}"
  command='' expected=''
}
check_page() { # FILE
  page=$1 rewritten=
  local line inside=false
  while IFS= read -r line; do
    if ! $inside; then
      emit "$line"
      [[ $line == '```console checked' ]] && inside=true
    elif [[ $line == '```' ]]; then
      close
      emit "$line"
      inside=false
    elif [[ $line == '$ '* ]]; then
      close
      emit "$line"
      command=${line#'$ '}
    else
      expected+=$line$'\n'
    fi
  done <"$page"
  if $update; then printf '%s' "$rewritten" >"$page"; fi
}
shopt -s nullglob
for file in README.md docs/*.md skills/*/SKILL.md; do check_page "$file"; done

echo "$checked commands in README.md, docs and skills, $wrong wrong"
((checked > 0 && wrong == 0))
