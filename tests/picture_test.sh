#!/usr/bin/env bash
# Opens pages of vramplan in a headless Chromium and uses them as a reader does: hover, keys, folding; light and dark,
# narrow and wide. Exit 77 where there is no Chromium. VRAMPLAN_SCREENSHOTS=FOLDER keeps what they look like.
set -u
cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." || exit 1
browser=${CHROMIUM-$(command -v chromium || command -v chromium-browser || command -v google-chrome)}
[[ -n $browser ]] || { echo "no Chromium here; CHROMIUM names one"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
ask() { "$browser" --headless=new --no-sandbox --disable-gpu --hide-scrollbars --user-data-dir="$folder/profile" "$@" 2>>"$folder/log"; }
wrong=0 checked=0
expect() { # WHAT TEXT-THAT-IS-THERE
  ((checked += 1))
  grep -qF -- "$2" "$folder/dom" && return
  ((wrong += 1))
  echo "$page: $1: not found: $2"
}

# What a reader does, behind the page's own script; what came of it goes into an attribute of the page.
cat >"$folder/reader.js" <<'SCRIPT'
addEventListener("error", (event) => { document.body.dataset.error = event.message; });
addEventListener("load", () => {
  const say = (name, value) => { document.body.dataset[name] = String(value); };
  const plot = document.querySelector("#step .plot"), tip = document.getElementById("tip");
  const box = plot.getBoundingClientRect();
  plot.dispatchEvent(new PointerEvent("pointermove", {clientX: box.left + box.width * 0.4, clientY: box.top + 40}));
  say("hover", !tip.hidden && tip.textContent.includes("allocated") && tip.textContent.includes("largest tensors"));
  const fits = tip.getBoundingClientRect();
  say("tip", fits.left >= 0 && fits.right <= innerWidth && fits.top >= 0);
  plot.dispatchEvent(new PointerEvent("pointerleave"));
  say("left", tip.hidden);
  plot.focus();
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "Home", bubbles: true}));
  const first = plot.getAttribute("aria-valuetext");
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true}));
  say("key", first !== plot.getAttribute("aria-valuetext"));
  say("peak", plot.getAttribute("aria-valuetext"));
  const icicle = document.querySelector("#held .icicle"), path = document.querySelector("#held .path");
  const wide = () => [...icicle.querySelectorAll("button")].filter((button) => !button.classList.contains("leaf"));
  say("icicle", icicle.querySelectorAll("button").length > 2);
  const before = path.textContent;
  wide()[0].click();
  say("into", path.textContent !== before && path.querySelectorAll("button").length === 1);
  icicle.querySelector("button").dispatchEvent(new KeyboardEvent("keydown", {key: "Escape", bubbles: true}));
  say("out", path.textContent === before);
  const fold = document.querySelector("#held .tree details details");
  fold.querySelector("summary").click();
  say("fold", fold.open);
  say("sideways", document.documentElement.scrollWidth > innerWidth);
  say("done", "yes");
});
SCRIPT

look() { # NAME COMMAND...
  page=$1
  shift
  local file=$folder/$page.html width scheme
  "$@" --format html >"$file" 2>/dev/null
  { sed 's#</body></html>$##' "$file"; echo "<script>"; cat "$folder/reader.js"; echo "</script></body></html>"; } >"$folder/read.html"
  for width in 390 1280; do
    for scheme in 0 1; do  # dark, light
      ask --window-size=$width,1200 --blink-settings=preferredColorScheme=$scheme --virtual-time-budget=3000 \
        --enable-logging=stderr --dump-dom "file://$folder/read.html" >"$folder/dom"
      expect "the reader came to the end" 'data-done="yes"'
      expect "hover names tensors" 'data-hover="true"'
      expect "the tip is on the screen" 'data-tip="true"'
      expect "the tip goes" 'data-left="true"'
      expect "the arrow keys move" 'data-key="true"'
      expect "Enter goes to the peak" 'data-peak="'
      expect "an icicle is drawn" 'data-icicle="true"'
      expect "a click goes into a module" 'data-into="true"'
      expect "Escape goes back" 'data-out="true"'
      expect "the tree folds" 'data-fold="true"'
      expect "nothing is cut at the side" 'data-sideways="false"'
      ((checked += 1))
      if grep -q 'data-error=' "$folder/dom" || grep -q 'CONSOLE' "$folder/log"; then
        ((wrong += 1))
        echo "$page: the console says:"
        grep 'CONSOLE' "$folder/log" | head -n 3
      fi
      [[ -n ${VRAMPLAN_SCREENSHOTS-} ]] && ask --window-size=$width,4000 --blink-settings=preferredColorScheme=$scheme \
        --screenshot="$VRAMPLAN_SCREENSHOTS/$page-$width-$([[ $scheme == 0 ]] && echo dark || echo light).png" "file://$file" >/dev/null
    done
  done
}
program=${VRAMPLAN_PROGRAM-./vramplan}
look fit "$program" fit models/unet.onnx --gpu t4
look plan "$program" plan models/resnet50.onnx --gpu-memory 4GiB --batch 64
look estimate "$program" estimate models/gpt_small.onnx --dim sequence=512 --batch 4
echo "$checked checks of pages in $("$browser" --version 2>/dev/null), $wrong wrong"
((checked > 0 && wrong == 0))
