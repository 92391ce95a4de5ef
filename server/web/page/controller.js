// The controller's part of the page: which keys are warming or hot, and why.

import { element } from "./charts.js";
import { bytes, count, duration, full, identity, short } from "./format.js";

const units = {
  qps: { name: "accesses/s", write: short },
  cpu: { name: "µs of CPU/s", write: short },
  bytes: { name: "bytes/s", write: bytes },
};

const rows = new Map(); // by key and database

/** Shows the controller's states and totals. taken is when they were told, so that times can go on between. */
export function showController(c, takenMs) {
  document.getElementById("control").hidden = !c.on && c.states.length === 0;
  const unit = units[c.metric] ?? units.qps;
  document.getElementById("control-rule").textContent = c.on
    ? `hot after ${count(c.promote_windows, "window", "windows")} at ${unit.write(c.promote)} ${unit.name} or more, normal again after ` +
      `${count(c.demote_windows, "window", "windows")} at ${unit.write(c.demote)} or less; hot for at least ${duration(c.min_hold_ms)}`
    : "no thresholds are set (hotkeys-promote-qps is 0)";
  const present = new Set();
  const list = document.getElementById("states");
  const scale = Math.max(1, 1.25 * c.promote, ...c.states.map((s) => s.demand));
  const order = c.states.toSorted((a, b) => rankOf(a) - rankOf(b) || b.demand - a.demand);
  order.forEach((s, i) => {
    const id = identity(s);
    present.add(id);
    let row = rows.get(id);
    if (!row) rows.set(id, (row = stateRow()));
    fill(row, s, c, unit, takenMs, scale);
    if (list.children[i] !== row.item) list.insertBefore(row.item, list.children[i] ?? null);
  });
  for (const [id, row] of rows) {
    if (present.has(id)) continue;
    row.item.remove();
    rows.delete(id);
  }
  document.getElementById("no-states").hidden = c.states.length > 0;
  totals(c);
  const link = document.getElementById("to-control");
  link.hidden = c.states.length === 0;
  link.textContent = [c.hot_keys && full(c.hot_keys) + " hot", c.warming_keys && full(c.warming_keys) + " warming"].filter(Boolean).join(", ");
}

const rankOf = (s) => (s.state === "hot" ? 0 : 1);

function stateRow() {
  const r = {
    chip: element("span", { className: "chip" }),
    name: element("bdi", { className: "mono" }),
    db: element("span", { className: "db" }),
    demand: element("span", { className: "demand" }),
    meter: element("span", { className: "meter", ariaHidden: "true" }),
    fill: element("i"),
    promote: element("b", { className: "promote" }),
    demote: element("b", { className: "demote" }),
    why: element("span", { className: "note" }),
  };
  r.meter.append(r.fill, r.demote, r.promote);
  r.item = element("li", {}, element("span", { className: "who" }, r.chip, r.name, r.db), r.meter, r.demand, r.why);
  return r;
}

function fill(r, s, c, unit, takenMs, scale) {
  r.chip.textContent = s.pinned ? "hot, pinned" : s.state;
  r.chip.dataset.state = s.state;
  r.item.dataset.state = s.state;
  r.name.textContent = s.key;
  r.db.textContent = s.db ? "db " + s.db : "";
  r.demand.textContent = unit.write(s.demand) + " " + unit.name;
  r.fill.style.width = (s.demand / scale) * 100 + "%";
  r.promote.style.left = (c.promote / scale) * 100 + "%";
  r.demote.style.left = (c.demote / scale) * 100 + "%";
  r.promote.hidden = r.demote.hidden = !c.on;
  r.why.textContent = reason(s, c, takenMs);
}

function reason(s, c, takenMs) {
  const since = s.state + " for " + duration(Math.max(0, takenMs - s.since_ms));
  if (s.pinned) return since + "; stays until unpinned";
  if (s.state === "warming") return since + "; " + full(s.evidence_windows) + " of " + count(c.promote_windows, "window", "windows") + " above";
  if (s.hold_remaining_ms > 0) return since + "; held for another " + duration(Math.ceil(s.hold_remaining_ms / 1000) * 1000);
  return since + "; " + full(s.evidence_windows) + " of " + count(c.demote_windows, "window", "windows") + " below";
}

function totals(c) {
  const list = [
    ["promotions", full(c.promotions)],
    ["aborted warm-ups", full(c.aborted_warmups)],
    ["demotions", full(c.demotions)],
    ["emergencies", full(c.emergency_trips)],
    ["false promotions", full(c.false_promotions)],
    ["time in hot", duration(c.time_in_hot_ms)],
  ];
  document.getElementById("totals").replaceChildren(
    ...list.map(([what, n]) => element("div", {}, element("dt", {}, what), element("dd", {}, n))));
}
