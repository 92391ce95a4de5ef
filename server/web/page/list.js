// The list of hot keys. Rows are kept from one answer to the next and only changed, so that focus, selection and what a screen
// reader is reading stay where they are.

import { draw, element, inWords, shape, ticks } from "./charts.js";
import { bytes, cores, duration, full, identity, percent, short } from "./format.js";

const nameBytesMax = 512; // of a name that the server sends

const body = document.getElementById("rows");
const stillness = matchMedia("(prefers-reduced-motion: reduce)");
const rows = new Map(); // by database and name
let shown = []; // rows in the order in which they stand
let filter = "";
let held = false; // somebody is reading or pointing: the order stays

/** Whether rows keep their places for now. */
export function holdOrder(on) {
  held = on;
  document.getElementById("still").hidden = !on;
}

/** Shows only keys that contain a text. */
export function setFilter(text) {
  filter = text.toLowerCase();
  for (const r of rows.values()) applyFilter(r);
  tellEmpty();
}

function applyFilter(r) {
  const hide = filter !== "" && !r.data.key.toLowerCase().includes(filter);
  r.row.hidden = hide;
  r.details.hidden = hide || !r.open;
}

function tellEmpty() {
  const note = document.getElementById("no-rows");
  const none = shown.every((r) => r.row.hidden);
  note.hidden = !none;
  if (none) note.textContent = shown.length === 0 ? "No key was accessed in the last window." : "No hot key has “" + filter + "” in its name.";
}

/** Shows an answer of the server. */
export function showKeys(answer) {
  const axis = axisOf(answer);
  const fresh = [];
  answer.keys.forEach((data, i) => {
    const id = identity(data);
    let r = rows.get(id);
    if (!r) {
      r = makeRow(id);
      rows.set(id, r);
    }
    r.data = data;
    r.rank = i + 1;
    r.gone = false;
    fresh.push(r);
  });
  const listed = new Set(fresh);
  let order = fresh;
  if (held && shown.length > 0) {
    const standing = new Set(shown);
    order = [...shown, ...fresh.filter((r) => !standing.has(r))];
    for (const r of order) r.gone = !listed.has(r);
    order = forgetSome(order);
  } else {
    for (const r of shown) if (!listed.has(r)) drop(r);
  }
  const moved = order.some((r, i) => shown[i] !== r);
  const before = moved && !stillness.matches && order.length <= 60 ? new Map(shown.map((r) => [r, r.row.offsetTop])) : null;
  shown = order;
  for (const r of shown) fill(r, answer, axis);
  if (moved) place();
  if (before) glide(before);
  showAxis(axis);
  tellEmpty();
}

const goneMax = 50;

/** A pointer may rest on the list for hours, while keys come and go: of those that went only some stay. */
function forgetSome(order) {
  let excess = order.filter((r) => r.gone).length - goneMax;
  return order.filter((r) => {
    if (excess <= 0 || !r.gone || r.open || r.button === document.activeElement) return true;
    excess--;
    drop(r);
    return false;
  });
}

function drop(r) {
  r.row.remove();
  r.details.remove();
  rows.delete(r.id);
}

/** Puts the rows into their order. What has the focus is not taken out of the document, or it would lose it. */
function place() {
  let next = body.firstElementChild;
  for (const r of shown) {
    for (const part of [r.row, r.details]) {
      if (part === next) next = next.nextElementSibling;
      else body.insertBefore(part, next);
    }
  }
}

/** Lets rows move to their new places instead of jumping. */
function glide(before) {
  for (const r of shown) {
    const was = before.get(r);
    const way = was === undefined ? 0 : was - r.row.offsetTop;
    if (way !== 0) r.row.animate([{ transform: `translateY(${way}px)` }, { transform: "none" }], { duration: 260, easing: "ease-out" });
  }
}

/** The axis that all bars share, with the thresholds of the controller if they are of the same unit. */
function axisOf(answer) {
  const c = answer.controller;
  const levels = c.on && c.metric === "qps" ? { promote: c.promote, demote: c.demote } : null;
  const top = Math.max(0, ...answer.keys.map((k) => Math.max(k.qps, k.certain ? k.qps_high : 0)));
  const marks = ticks(Math.max(top, levels && levels.promote < top * 3 ? levels.promote : 0));
  return { max: marks.at(-1), marks, levels, floor: answer.window?.detection_floor_qps ?? 0 };
}

function showAxis(axis) {
  body.style.setProperty("--step", 100 / (axis.marks.length - 1) + "%");
  document.getElementById("axis").replaceChildren(...axis.marks.map((at) => {
    const tick = element("span", {}, short(at));
    tick.style.left = (at / axis.max) * 100 + "%";
    return tick;
  }));
  for (const [name, id] of [["promote", "legend-promote"], ["demote", "legend-demote"]]) {
    document.getElementById(id).hidden = !axis.levels || axis.levels[name] > axis.max;
  }
}

function makeRow(id) {
  const r = { id, open: false };
  const cell = (name, ...children) => element("td", { className: name, attrs: { role: "cell" } }, ...children);
  const detailsId = "details-" + (makeRow.count = (makeRow.count ?? 0) + 1);
  r.rankText = element("span");
  r.text = element("bdi", { className: "mono" });
  r.button = element("button", { type: "button", className: "open", attrs: { "aria-expanded": "false", "aria-controls": detailsId } }, r.text);
  r.chip = element("span", { className: "chip" });
  r.meta = element("span", { className: "db" });
  r.qps = element("span", { className: "number" });
  r.bounds = element("span", { className: "note" });
  r.plot = element("div", { className: "plot", attrs: { role: "img" } });
  r.parts = Object.fromEntries(["floor", "reads", "writes", "demote", "promote", "whisker"].map((n) => [n, element("i", { className: n })]));
  r.plot.append(...Object.values(r.parts));
  r.past = shape("svg", { class: "chart", role: "img", preserveAspectRatio: "none" });
  r.share = element("span");
  r.cpu = element("span");
  r.traffic = element("span");
  r.row = element("tr", { attrs: { role: "row" } },
    cell("rank", r.rankText),
    cell("name", r.button, element("span", { className: "meta" }, r.chip, r.meta)),
    cell("qps", r.qps, r.bounds),
    cell("bar", r.plot),
    cell("past", r.past),
    cell("share", r.share), cell("cpu", r.cpu), cell("traffic", r.traffic));
  r.inside = cell("inside");
  r.inside.colSpan = 8;
  r.details = element("tr", { className: "details", id: detailsId, hidden: true, attrs: { role: "row" } }, r.inside);
  r.button.addEventListener("click", () => toggle(r));
  return r;
}

function toggle(r) {
  r.open = !r.open;
  r.button.setAttribute("aria-expanded", String(r.open));
  r.row.classList.toggle("is-open", r.open);
  r.details.hidden = !r.open;
  if (r.open) showDetails(r);
}

/** Shows the data of a row. */
function fill(r, answer, axis) {
  const k = r.data;
  r.answer = answer;
  r.row.classList.toggle("is-gone", r.gone);
  r.row.classList.toggle("is-noise", !k.certain);
  r.row.dataset.state = k.state;
  r.rankText.textContent = r.gone ? "–" : r.rank;
  const name = k.key === "" ? "(empty name)" : k.key;
  if (r.text.textContent !== name) r.text.textContent = r.button.title = name;
  const chip = r.gone ? "not listed now" : k.state !== "normal" ? k.state : k.certain ? "" : "may be noise";
  r.chip.textContent = chip;
  r.chip.hidden = chip === "";
  r.chip.dataset.state = r.gone ? "gone" : k.state;
  r.meta.textContent = [k.db ? "db " + k.db : "", k.value_type === "none" ? "no value" : k.value_type].filter(Boolean).join(" · ");
  r.qps.textContent = full(k.qps);
  r.bounds.textContent = bounds(k);
  fillPlot(r, k, answer, axis);
  draw(r.past, k.history, answer.history.map((h) => h.known), { places: 60, width: 120, height: 28 });
  r.past.setAttribute("aria-label", inWords(k.history, short));
  r.share.textContent = percent(k.share);
  r.cpu.textContent = known(k.cpu_usec, cores);
  r.traffic.textContent = k.in_bytes === null ? "–" : bytes(k.in_bytes + k.out_bytes) + "/s";
  applyFilter(r);
  if (r.open && !r.gone) showDetails(r);
}

/** A figure that may not have been measured. */
const known = (value, write) => (value === null ? "–" : write(value));

const bounds = (k) => (k.qps_low === k.qps_high || short(k.qps_low) === short(k.qps_high) ? "exact" : short(k.qps_low) + " – " + short(k.qps_high));

/** The part of what a bar shows that is reads. A list ranked by one of them shows only that. */
function readsOf(k, type) {
  if (type !== "all") return type === "read" ? 1 : 0;
  return k.read_qps + k.write_qps > 0 ? k.read_qps / (k.read_qps + k.write_qps) : 1;
}

function fillPlot(r, k, answer, axis) {
  const at = (v) => Math.min(v / axis.max, 1) * 100;
  const place = (part, from, to) => {
    part.style.left = from + "%";
    part.style.width = Math.max(to - from, 0) + "%";
  };
  const split = readsOf(k, answer.type);
  place(r.parts.floor, 0, at(axis.floor));
  place(r.parts.reads, 0, at(k.qps) * split);
  place(r.parts.writes, at(k.qps) * split, at(k.qps));
  place(r.parts.whisker, at(k.qps_low), at(k.qps_high));
  r.parts.whisker.classList.toggle("cut", k.qps_high > axis.max);
  r.parts.whisker.hidden = k.qps_high <= k.qps_low;
  for (const level of ["promote", "demote"]) {
    const v = axis.levels?.[level] ?? Infinity;
    r.parts[level].hidden = v > axis.max;
    if (v <= axis.max) r.parts[level].style.left = at(v) + "%";
  }
  r.plot.setAttribute("aria-label", `${percent(split)} reads, ${percent(1 - split)} writes; between ${full(k.qps_low)} and ${full(k.qps_high)} a second`);
}

function showDetails(r) {
  const k = r.data;
  if (!r.inDetail) {
    r.inDetail = { chart: shape("svg", { class: "chart large", role: "img", preserveAspectRatio: "none" }), scale: element("div", { className: "scale note", ariaHidden: "true" }),
      times: element("p", { className: "note between" }), facts: element("dl", { className: "facts" }), name: element("code") };
    const d = r.inDetail;
    r.inside.append(element("div", { className: "detail" },
      element("div", { className: "picture" }, element("div", { className: "framed" }, d.chart, d.scale), d.times),
      d.facts, element("p", { className: "note fullname" }, "HOTKEYS HISTORY KEY ", d.name)));
  }
  const d = r.inDetail;
  const certain = r.answer.history.map((h) => h.known);
  const levels = r.answer.controller.on && r.answer.controller.metric === "qps"
    ? [{ at: r.answer.controller.promote, kind: "promote" }, { at: r.answer.controller.demote, kind: "demote" }] : [];
  const highest = Math.max(...k.history.map((v) => v ?? 0), 0);
  const marks = ticks(Math.max(highest, levels.length && levels[0].at < 3 * highest ? levels[0].at : 0));
  draw(d.chart, k.history, certain, { width: 600, height: 120, max: marks.at(-1), places: 60, lines: levels });
  d.chart.setAttribute("aria-label", inWords(k.history, short));
  d.scale.replaceChildren(...marks.map((v) => {
    const mark = element("span", {}, short(v));
    mark.style.bottom = (v / marks.at(-1)) * 100 + "%";
    return mark;
  }));
  const first = r.answer.history[0];
  d.times.replaceChildren(element("span", {}, first ? duration(Math.max(60 * r.answer.tracking.window_ms, r.answer.taken_ms - first.begin_ms)) + " ago" : ""),
    element("span", {}, gaps(k.history, certain)), element("span", {}, "now"));
  d.facts.replaceChildren(...factsOf(k).map(([what, value]) => element("div", {}, element("dt", {}, what), element("dd", {}, value))));
  d.name.textContent = '"' + k.key.replaceAll('"', '\\"') + '"' + (k.db ? " DB " + k.db : "") + (k.key_bytes > nameBytesMax ? " …" : "");
}

/** What the gaps of a chart mean, if it has some. */
function gaps(history, known) {
  const meanings = [];
  if (known.includes(false)) meanings.push("grey: not known");
  if (history.some((v, i) => v === null && known[i])) meanings.push("no line: not among the hottest");
  return meanings.join("; ");
}

function factsOf(k) {
  const facts = [
    ["Reads", full(k.read_qps) + "/s"], ["Writes", full(k.write_qps) + "/s"], ["Misses", known(k.miss_qps, full) + "/s"],
    ["Bounds", full(k.qps_low) + " – " + full(k.qps_high)], ["Samples", full(k.samples)],
    ["CPU", known(k.cpu_usec, full) + " µs/s"], ["In", known(k.in_bytes, bytes) + "/s"], ["Out", known(k.out_bytes, bytes) + "/s"],
    ["Name", bytes(k.key_bytes)],
  ];
  if (k.reported_qps > 0) facts.push(["Served by clients", full(k.reported_qps) + "/s"]);
  return facts;
}

/** Moves the focus from key to key. It returns false if there is none to move to. */
export function moveFocus(by) {
  const visible = shown.filter((r) => !r.row.hidden);
  if (visible.length === 0) return false;
  const at = visible.findIndex((r) => r.button === document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : visible.length - 1) : Math.min(Math.max(at + by, 0), visible.length - 1);
  visible[next].button.focus();
  return true;
}
