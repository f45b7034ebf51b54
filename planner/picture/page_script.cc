#include "planner/picture/page.h"

namespace vramplan {

// Text is set, never parsed as HTML: names come from the user's file.
const char* const kPageScript = R"js(
"use strict";
(() => {
const units = [["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];
const size = (bytes) => {
  for (const [name, unit] of units) if (bytes >= unit) return (bytes / unit).toFixed(2) + " " + name;
  return bytes + " B";
};
const make = (tag, text, className) => {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (className) element.className = className;
  return element;
};
const tip = document.getElementById("tip");
const row = (className, name, bytes) => {
  const line = make("div");
  line.append(make("i", "", className), make("span", name), make("em", size(bytes)));
  return line;
};
const place = (x, y) => {
  tip.hidden = false;
  const box = tip.getBoundingClientRect(), gap = 14;
  const left = x + gap + box.width > innerWidth - 8 ? x - gap - box.width : x + gap;
  tip.style.left = Math.max(8, Math.min(left, innerWidth - box.width - 8)) + "px";
  tip.style.top = Math.max(8, Math.min(y + gap, innerHeight - box.height - 8)) + "px";
};
const hide = () => { tip.hidden = true; };
addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

const step = () => {
  const figure = document.getElementById("step"), source = document.getElementById("step-data");
  if (!figure || !source) return;
  const data = JSON.parse(source.textContent), plot = figure.querySelector(".plot");
  const columns = data.columns.length, slack = 8, unused = 9, context = 10;
  const cross = make("div", undefined, "cross");
  cross.hidden = true;
  plot.append(cross);
  let now = data.peak;
  const show = (column, x, y) => {
    now = Math.max(0, Math.min(columns - 1, column));
    const parts = data.columns[now];
    const allocated = parts.reduce((sum, bytes, part) => part === unused || part === context ? sum : sum + bytes, 0);
    const span = data.spans.find(([from, to]) => from <= now && now < to);
    const head = (span ? span[2] + ": " : "") + size(allocated) + " allocated";
    const onDevice = size(allocated + parts[unused] + parts[context]) + " on the device";
    tip.replaceChildren(make("h3", head), make("div", onDevice), make("hr"));
    const order = parts.map((bytes, part) => [bytes, part]).filter(([bytes, part]) => bytes > 0 && part !== unused);
    order.sort((a, b) => b[0] - a[0]);
    for (const [bytes, part] of order.slice(0, 6)) tip.append(row("p" + part, data.parts[part], bytes));
    const live = data.blocks.filter(([from, to]) => from <= now && now < to).sort((a, b) => b[2] - a[2]).slice(0, 6);
    if (live.length) tip.append(make("hr"), make("h3", "largest tensors"));
    for (const [, , bytes, part, what, module] of live) {
      const where = data.names[module];
      tip.append(row("p" + part, data.names[what] + (where ? " in " + where : ""), bytes));
    }
    cross.hidden = false;
    cross.style.left = (100 * (now + 0.5) / columns) + "%";
    plot.setAttribute("aria-valuenow", String(now + 1));
    plot.setAttribute("aria-valuetext", head + ", " + onDevice);
    place(x, y);
  };
  const leave = () => { cross.hidden = true; hide(); };
  const point = (event) => {
    const box = plot.getBoundingClientRect();
    show(Math.floor((event.clientX - box.left) / box.width * columns), event.clientX, event.clientY);
  };
  const byKey = (column) => {
    const box = plot.getBoundingClientRect();
    const at = Math.max(0, Math.min(columns - 1, column));
    show(at, box.left + (at + 0.5) / columns * box.width, box.top + 24);
  };
  plot.addEventListener("pointermove", point);
  plot.addEventListener("pointerdown", point);
  plot.addEventListener("pointerleave", leave);
  plot.addEventListener("blur", leave);
  plot.addEventListener("keydown", (event) => {
    const far = Math.max(1, Math.round(columns / 20));
    const moves = {ArrowLeft: now - 1, ArrowRight: now + 1, ArrowDown: now - 1, ArrowUp: now + 1, PageUp: now + far,
                   PageDown: now - far, Home: 0, End: columns - 1, Enter: data.peak};
    if (!(event.key in moves)) return;
    event.preventDefault();
    byKey(moves[event.key]);
  });
};

const icicle = () => {
  const figure = document.getElementById("held");
  if (!figure) return;
  const read = (element) => ({
    name: element.dataset.n, bytes: Number(element.dataset.b), color: element.dataset.c, element,
    children: [...element.children].filter((child) => child.dataset.b !== undefined).map(read),
  });
  const root = read(figure.querySelector(".tree > *"));
  const box = figure.querySelector(".icicle"), path = make("div", undefined, "path");
  box.hidden = false;
  figure.insertBefore(path, box);
  const parents = new Map();
  const climb = (node) => { for (const child of node.children) { parents.set(child, node); climb(child); } };
  climb(root);
  let here = root;
  const go = (node, focus) => {
    here = node;
    draw();
    if (focus) box.querySelector("button").focus();
  };
  const draw = () => {
    const levels = Math.max(2, Math.floor(box.clientWidth / 165)), height = box.clientHeight;
    const trail = [];
    for (let node = here; node; node = parents.get(node)) trail.unshift(node);
    path.replaceChildren();
    for (const node of trail) {
      if (node === here) { path.append(make("b", node.name)); continue; }
      const back = make("button", node.name);
      back.type = "button";
      back.addEventListener("click", () => go(node, true));
      path.append(back, make("span", "/"));
    }
    box.replaceChildren();
    const put = (node, level, top, share) => {
      const high = share * height;
      if (level >= levels || high < 2.5) return;
      const button = make("button", undefined, node.children.length ? "" : "leaf");
      button.type = "button";
      button.title = node.name + ", " + size(node.bytes);
      button.setAttribute("aria-label", button.title);
      if (node.color) button.style.setProperty("--part", "var(--" + node.color + ")");
      const last = node.children.length === 0;
      Object.assign(button.style, {top: top + "px", height: Math.max(2, high - 1) + "px",
        left: (100 * level / levels) + "%", width: (last ? 100 * (levels - level) / levels : 100 / levels) + "%",
        padding: high < 20 ? "0 6px" : "", font: high < 20 ? "11px/1.1 system-ui,sans-serif" : "",
        whiteSpace: high < 34 ? "nowrap" : ""});
      if (high >= 15) button.append(make("b", node.name), make("small", size(node.bytes)));
      if (node.children.length) {
        button.addEventListener("click", () => go(node, true));
      }
      box.append(button);
      let below = top;
      for (const child of node.children) {
        const part = node.bytes ? share * child.bytes / node.bytes : 0;
        put(child, level + 1, below, part);
        below += part * height;
      }
    };
    let top = 0;
    for (const child of here.children) {
      const part = here.bytes ? child.bytes / here.bytes : 0;
      put(child, 0, top, part);
      top += part * height;
    }
  };
  box.addEventListener("keydown", (event) => {
    if ((event.key === "Escape" || event.key === "Backspace") && parents.get(here)) {
      event.preventDefault();
      go(parents.get(here), true);
    }
  });
  draw();
  let wide = box.clientWidth;
  onresize = () => { if (box.clientWidth !== wide) { wide = box.clientWidth; draw(); } };
};
// A page that puts other pictures in their place (vramplan ui) calls it again.
window.drawPictures = () => { step(); icicle(); };
drawPictures();
})();
)js";

}  // namespace vramplan
