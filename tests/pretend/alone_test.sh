#!/usr/bin/env bash
# The hook beside a torch that is made up. Exit code 77, and a line that says so: there is no Python.
cd -- "$(dirname -- "${BASH_SOURCE[0]}")" || exit 1
command -v python3 >/dev/null || {
  echo "no python3"
  exit 77
}
exec python3 alone_test.py
