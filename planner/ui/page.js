// The page of vramplan ui: controls become the arguments of a command line, and its answer is shown. Text is set, never
// parsed as HTML, but for the pages that the program itself has made.
(() => {
const at = (id) => document.getElementById(id);
const make = (tag, text, properties) => {
  const element = Object.assign(document.createElement(tag), properties);
  if (text !== undefined) element.textContent = text;
  return element;
};
const option = (value, text) => make("option", text, {value});
const size = (bytes) => (bytes / 2 ** 30).toFixed(2) + " GiB";

// A slider over round numbers beside the field that takes any: 1, 2, 3, 4, 6, 8, 12, 16 ...; at its left end nothing is given.
const roundNumbers = (least, most) => {
  const numbers = [];
  for (let power = 1; power <= most; power *= 2) numbers.push(power, ...(power > 1 ? [power * 1.5] : []));
  return numbers.filter((number) => number >= least && number <= most);
};
const wide = ["--gpu-memory", "--checkpoint", "--optimizer"];
const limits = {"--batch": [1, 4096], "--accumulate": [1, 256], "--lora": [1, 256]};

let start, inspected, controls = [], pasted = "";
const opened = [];

const field = (label, title, isWide, ...parts) => {
  const box = make("div", undefined, {className: isWide ? "field wide" : "field", title});
  const name = make("label", label, {htmlFor: parts[0].id});
  box.append(name);
  if (parts.length > 1) {
    const two = make("div", undefined, {className: "two"});
    two.append(...parts);
    box.append(two);
  } else {
    box.append(...parts);
  }
  return box;
};
const numberField = (id, label, title, [least, most]) => {
  const numbers = roundNumbers(least, most);
  const input = make("input", undefined, {type: "number", min: 1, step: 1, id, inputMode: "numeric"});
  const slider = make("input", undefined, {type: "range", min: 0, max: numbers.length, value: 0});
  slider.setAttribute("aria-label", label + " slider");
  const follow = () => {
    const value = Number(input.value);
    slider.value = value ? numbers.findLastIndex((number) => number <= value) + 1 : 0;
    slider.setAttribute("aria-valuetext", input.value || "not given");
  };
  slider.addEventListener("input", () => { input.value = numbers[slider.value - 1] ?? ""; follow(); });
  input.addEventListener("input", follow);
  input.follow = follow;
  return [field(label, title, true, input, slider), input];
};
const wordField = (id, label, title, words, isWide) => {
  const select = make("select", undefined, {id});
  select.append(option("", "auto"), ...words);
  return [field(label, title, isWide, select), select];
};

// What each control is, by what the command line says of its option.
const cardOptions = () => {
  const cards = start.cards.cards.map((card) => option(card.id, card.name + ", " + size(card.usable_bytes)));
  return [...cards, option("all", "all cards"), option("auto", "this machine's card")];
};
const build = (control) => {
  const id = "c" + control.flag, label = control.flag === "--gpu" ? "card" : control.flag.slice(2).replace("-", " ");
  if (control.flag === "--gpu") {
    const [box, select] = wordField(id, label, control.text, cardOptions(), true);
    select.value = "t4";
    return [box, select];
  }
  const isWide = wide.includes(control.flag);
  if (control.words.length) return wordField(id, label, control.text, control.words.map((word) => option(word, word)), isWide);
  if (limits[control.flag]) return numberField(id, label, control.text, limits[control.flag]);
  const input = make("input", undefined, {type: "text", id, spellcheck: false, autocomplete: "off", placeholder: control.argument});
  return [field(label, control.text, isWide, input), input];
};
const buildControls = () => {
  let group;
  for (const control of start.controls) {
    if (control.flag === "--emit") {
      at("emit").append(...control.words.map((word) => option(word, word)));
      continue;
    }
    if (control.group !== group) at("controls").append(make("h2", group = control.group));
    const lengths = control.flag === "--dim";
    const [box, input] = lengths ? [make("div", undefined, {id: "lengths", className: "wide"})] : build(control);
    at("controls").append(box);
    controls.push({...control, box, input});
  }
};
const buildLengths = () => {
  const before = new Map([...at("lengths").querySelectorAll("input[type=number]")].map((input) => [input.name, input.value]));
  at("lengths").replaceChildren();
  for (const {name, usual} of inspected?.free_lengths ?? []) {
    const [box, input] = numberField("length-" + name, name, "--dim " + name + "=N", [16, 131072]);
    Object.assign(input, {name, min: 0, value: before.get(name) || usual});
    input.follow();
    at("lengths").append(box);
  }
};

// What is asked about, and with which verb.
const subjectOf = (id) => opened.find((one) => one.id === id) ?? {id, name: id, kind: id ? "model" : ""};
const subject = () => subjectOf(at("subject").value);
const verb = () => ({message: "explain", snapshot: "compare"})[subject().kind] ?? at("question").elements.verb.value;
const question = () => {
  const {id, kind} = subject(), asked = verb(), besides = asked === "explain" || asked === "compare";
  const beside = besides ? at("beside").value : "", options = [];
  for (const control of controls) {
    const ofCard = control.flag.startsWith("--gpu");  // a message and a snapshot know their card
    const takes = control.verbs.includes(asked) && (besides ? beside && !ofCard : kind !== "record" || ofCard);
    control.box.hidden = control.input ? !takes : !takes || !inspected?.free_lengths?.length;
    if (!takes) continue;
    if (!control.input) {
      for (const input of at("lengths").querySelectorAll("input[type=number]"))
        if (input.value) options.push([control.flag, input.name + "=" + input.value]);
      continue;
    }
    const value = control.input.value.trim();
    if (!value || (value === "auto" && control.flag !== "--gpu")) continue;
    for (const one of control.repeats ? value.split(/[\s,]+/) : [value]) options.push([control.flag, one]);
  }
  for (const heading of at("controls").querySelectorAll("h2")) {
    let next = heading.nextElementSibling, shown = false;
    for (; next && next.tagName !== "H2"; next = next.nextElementSibling) shown ||= !next.hidden;
    heading.hidden = !shown;
  }
  at("verbs").hidden = besides || kind === "";
  at("beside-field").hidden = !besides;
  return {verb: asked, subject: id, options, ...(beside && {model: beside}), ...(id === "-" && {input: pasted})};
};
let going = new AbortController();
const post = async (body, signal) => {
  const reply = await fetch("answer", {method: "POST", body: JSON.stringify(body), signal});
  if (!reply.ok) throw new Error((await reply.text()).trim());
  return reply.json();
};

// The answer's own page is put into this one; what was folded open stays so.
const folds = () => [...document.querySelectorAll("details.as-table")];
const showAnswer = ({text, html}) => {
  const answer = at("answer"), open = folds().map((fold) => fold.open);
  const page = html ? new DOMParser().parseFromString(html, "text/html").querySelector("main") : make("main");
  if (!html) {
    const lines = text.trimEnd().split("\n"), header = make("header");
    header.append(make("h1", lines[0]));
    page.append(header);
  }
  // Configuration and text stand before what few look at.
  const parts = [...page.children], cut = parts.findIndex((part) => part.querySelector(".segments"));
  const places = page.querySelector("nav");
  if (places && at("config").hidden === false)
    places.append(make("a", "Configuration", {href: "#config"}), make("a", "As text", {href: "#plain"}));
  answer.replaceChildren(...parts.slice(0, cut < 0 ? parts.length : cut));
  at("more").replaceChildren(...(cut < 0 ? [] : parts.slice(cut)));
  folds().forEach((fold, i) => { fold.open = open[i] ?? fold.open; });
  at("now").replaceChildren(...[...answer.querySelectorAll(".badge")].map((badge) => badge.cloneNode(true)),
                            make("span", answer.querySelector("h1")?.textContent));
  at("said").textContent = answer.querySelector("h1")?.textContent;
  at("plain-text").textContent = text;
  at("plain").hidden = false;
  if (html) drawPictures();
};
// What is taken where nothing is given, as the answer says it.
const showDefaults = (json) => {
  const spec = json?.spec ?? {};
  for (const {flag, input} of controls) {
    const value = spec[flag.slice(2).replace("-", "_")]?.value;
    const said = typeof value === "object" || value === undefined ? "" : String(value);
    if (input?.tagName === "SELECT") {
      input.options[0].textContent = said && input.value === "" ? "auto: " + said : "auto";
    } else if (input?.type === "number") {
      input.placeholder = said;
    }
  }
};
const say = (error) => {
  at("error").textContent = error;
  at("error").hidden = !error;
  if (error) at("now").replaceChildren(make("b", "no answer", {className: "badge bad"}), make("span", error));
  for (const part of ["answer", "config", "plain", "more"]) at(part).classList.toggle("stale", Boolean(error));
};

const hasConfig = (asked) => (asked.verb === "fit" || asked.verb === "plan") && subject().kind !== "record" &&
    !asked.options.some(([flag, value]) => flag === "--gpu" && value === "all");
const showConfig = async (asked, fits) => {
  const options = [...asked.options, ["--emit", at("emit").value]];
  const reply = fits ? await post({...asked, options}, going.signal) : {error: "nothing to apply: it does not fit"};
  at("config-lead").textContent = reply.error ?? reply.command;
  at("config-text").textContent = reply.answer?.text ?? "";
};
const answerNow = async () => {
  const asked = question();
  if (!asked.subject) return;
  const before = performance.now();
  const waits = setTimeout(() => { at("took").textContent = "asking ..."; }, 400);
  const reply = await post(asked, going.signal).finally(() => clearTimeout(waits));
  at("asked").hidden = !reply.command;
  // A line ends before an option.
  at("command").replaceChildren(...(reply.command ?? "").split(/(?= --)/).flatMap((part) =>
    part.startsWith(" ") ? [" ", make("span", part.slice(1))] : [part]));
  say(reply.error ?? "");
  if (!reply.answer) { at("took").textContent = ""; return; }
  at("config").hidden = !hasConfig(asked);
  showAnswer(reply.answer);
  showDefaults(reply.answer.json);
  at("took").textContent = Math.round(performance.now() - before) + " ms";
  if (hasConfig(asked)) await showConfig(asked, reply.exit === 0);
};
// One question at a time; of those that came meanwhile, the last. One that takes long is given up for it, and the program
// stops working on it.
const patience = 400;
let busy = false, again = false, began = 0;
const giveUp = () => { if (again && performance.now() - began >= patience) going.abort(); };
const answer = async () => {
  if (busy) { again = true; giveUp(); return; }
  busy = true;
  do {
    again = false;
    began = performance.now();
    going = new AbortController();
    setTimeout(giveUp, patience + 1);
    try { await answerNow(); } catch (error) { if (!going.signal.aborted) say("vramplan ui does not answer: " + error.message); }
  } while (again);
  busy = false;
  document.body.dataset.answered = String(Number(document.body.dataset.answered ?? 0) + 1);
};

const look = async () => {
  const {id, kind} = subject(), besides = kind === "message" || kind === "snapshot";
  const model = besides ? at("beside").value : kind === "model" ? id : "";
  going.abort();  // what is asked about the one before
  inspected = model && (await post({verb: "inspect", subject: model})).answer?.json;
  buildLengths();
  answer();
};
const choose = (id) => { at("subject").value = id; look(); };
const add = (one) => {
  const known = opened.find(({id}) => id === one.id);
  if (!known) {
    opened.push(one);
    at("subject").options[0].after(option(one.id, one.name));
    if (one.kind === "model") at("beside").options[0].after(option(one.id, one.name));
  }
  return one.id;
};
const upload = async (file) => {
  try {
    const reply = await fetch("open/" + encodeURIComponent(file.name), {method: "POST", body: file});
    if (!reply.ok) throw new Error((await reply.text()).trim());
    choose(add(await reply.json()));
  } catch (error) { say(file.name + " was not opened: " + error.message); }
};
const explain = (text) => {
  if (!text.trim()) return;
  pasted = text;
  choose(add({id: "-", name: "the pasted message", kind: "message"}));
};
const copy = (button, text) => async () => {
  await navigator.clipboard.writeText(text());
  button.textContent = "Copied";
  setTimeout(() => { button.textContent = "Copy"; }, 1500);
};

const begin = async () => {
  start = await (await fetch("start")).json();
  buildControls();
  const names = start.models.models.map((model) => option(model.name, model.name));
  const group = make("optgroup", undefined, {label: "by name"});
  group.append(...names);
  at("subject").append(group);
  at("beside").append(option("", "not known"), group.cloneNode(true));
  at("subject").addEventListener("change", look);
  at("beside").addEventListener("change", look);
  at("verbs").addEventListener("change", answer);
  at("controls").addEventListener("input", answer);
  at("emit").addEventListener("change", answer);
  at("question").addEventListener("submit", (event) => event.preventDefault());
  at("open").addEventListener("click", () => at("file").click());
  at("file").addEventListener("change", () => { if (at("file").files[0]) upload(at("file").files[0]); at("file").value = ""; });
  at("paste").addEventListener("click", () => at("message").showModal());
  at("message").addEventListener("close", () => { if (at("message").returnValue) explain(at("message-text").value); });
  at("copy").addEventListener("click", copy(at("copy"), () => at("command").textContent));
  at("copy-config").addEventListener("click", copy(at("copy-config"), () => at("config-text").textContent));
  addEventListener("dragover", (event) => { event.preventDefault(); at("drop").hidden = false; });
  addEventListener("dragleave", (event) => { if (!event.relatedTarget) at("drop").hidden = true; });
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").hidden = true;
    const file = event.dataTransfer.files[0];
    if (file) upload(file); else explain(event.dataTransfer.getData("text"));
  });
  addEventListener("paste", (event) => {
    if (event.target.closest?.("input,textarea")) return;
    const file = event.clipboardData.files[0];
    if (file) upload(file); else explain(event.clipboardData.getData("text"));
  });
  start.opened.forEach(add);
  if (start.opened.length) choose(start.opened[0].id); else question();
};
begin().catch((error) => say("vramplan ui does not answer: " + error.message));
})();
