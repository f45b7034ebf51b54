#!/usr/bin/env bash
# Uses the page of `vramplan ui` in a headless Chromium: keys, dropped files, a pasted message, at two widths, light and dark;
# and holds what it shows against the command line. Exit 77 where there is no Chromium or no python3.
# VRAMPLAN_SCREENSHOTS=FOLDER keeps what it looks like.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
browser=${CHROMIUM-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[[ -n $browser ]] || { echo "no Chromium here; CHROMIUM names one"; exit 77; }
command -v python3 >/dev/null || { echo "no python3 here"; exit 77; }
CHROMIUM=$browser VRAMPLAN_PROGRAM=${VRAMPLAN_PROGRAM-./vramplan} exec python3 tests/ui_use.py
