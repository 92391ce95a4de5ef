// Drawing. Charts are SVG whose shapes are set by attributes; nothing is ever made of markup in a string.

const svgNamespace = "http://www.w3.org/2000/svg";

/** An element with properties, attributes (in attrs) and children. Strings become text. */
export function element(name, props = {}, ...children) {
  const { attrs, ...rest } = props;
  const e = Object.assign(document.createElement(name), rest);
  for (const [key, value] of Object.entries(attrs ?? {})) e.setAttribute(key, value);
  e.append(...children);
  return e;
}

/** An SVG element with attributes. */
export function shape(name, attrs = {}) {
  const e = document.createElementNS(svgNamespace, name);
  for (const [key, value] of Object.entries(attrs)) e.setAttribute(key, value);
  return e;
}

/** The ticks of an axis from 0 to at least max, three to five of them. */
export function ticks(max) {
  if (!(max > 0)) return [0, 1];
  const step = 10 ** Math.floor(Math.log10(max));
  const unit = [0.2, 0.25, 0.5, 1, 2, 2.5].map((f) => f * step).find((u) => max / u <= 4.0001);
  return Array.from({ length: Math.ceil(max / unit - 1e-9) + 1 }, (_, i) => i * unit);
}

/**
 * Runs of consecutive windows of one kind: [first, last] indexes for which is(i) holds.
 */
function runs(n, is) {
  const found = [];
  for (let i = 0; i < n; i++) {
    if (!is(i)) continue;
    if (found.length && found.at(-1)[1] === i - 1) found.at(-1)[1] = i;
    else found.push([i, i]);
  }
  return found;
}

/**
 * Draws values over windows into an svg: an area under a line, gaps where a value is null, bands where a window is unknown.
 * places is how many windows the chart has room for; fewer stand at its right end. lines are horizontal lines {at, kind}.
 */
export function draw(svg, values, known, { width = 240, height = 40, max, places = values.length, lines = [] } = {}) {
  const n = values.length;
  places = Math.max(places, n, 2);
  const top = max ?? (Math.max(...values.map((v) => v ?? 0), 0) || 1);
  const x = (i) => ((places - n + i) / (places - 1)) * width;
  const y = (v) => height - 1 - (Math.min(v, top) / top) * (height - 3);
  const half = width / (places - 1) / 2;
  let area = "", line = "";
  for (const [first, last] of runs(n, (i) => values[i] != null)) {
    const points = [];
    for (let i = first; i <= last; i++) points.push(x(i).toFixed(1) + " " + y(values[i]).toFixed(1));
    if (first === last) points.push((x(first) + 0.1).toFixed(1) + " " + y(values[first]).toFixed(1));
    line += "M" + points.join("L");
    area += "M" + x(first).toFixed(1) + " " + height + "L" + points.join("L") + "L" + x(last).toFixed(1) + " " + height + "Z";
  }
  svg.setAttribute("viewBox", "0 0 " + width + " " + height);
  const shapes = [shape("path", { class: "ground", d: "M0 " + height + "H" + width })];
  for (const [first, last] of runs(n, (i) => !known[i])) {
    const from = Math.max(x(first) - half, 0);
    shapes.push(shape("rect", { class: "unknown", x: from, y: 0, width: Math.min(x(last) + half, width) - from, height }));
  }
  shapes.push(shape("path", { class: "area", d: area }), shape("path", { class: "line", d: line }));
  for (const l of lines) {
    if (l.at <= top) shapes.push(shape("path", { class: "level " + l.kind, d: "M0 " + y(l.at).toFixed(1) + "H" + width }));
  }
  svg.replaceChildren(...shapes);
}

/** What a chart shows, for those who do not see it. */
export function inWords(values, write) {
  const there = values.filter((v) => v != null);
  if (there.length === 0) return "not among the hottest keys in the windows before";
  const lowest = Math.min(...there), highest = Math.max(...there);
  return "in " + there.length + (there.length === 1 ? " window" : " windows") + " between " + write(lowest) + " and " + write(highest) +
    " a second, last " + write(there.at(-1));
}
