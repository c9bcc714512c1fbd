"use strict";
// Everything that comes from the program reaches the page as text, never as markup.
const data = JSON.parse(document.getElementById("data").textContent);
const graph = document.getElementById("graph"), scroll = document.getElementById("scroll");
const detail = document.getElementById("detail"), hint = [...detail.childNodes];
const box = (i) => document.getElementById("box-" + i);
const edges = [...document.querySelectorAll("#graph [data-tail]")].map((line) => (
  {line, tail: Number(line.dataset.tail), head: Number(line.dataset.head)}));
const touching = data.boxes.map(() => []);
for (const e of edges) { touching[e.tail].push(e); if (e.head !== e.tail) touching[e.head].push(e); }

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}

// -- formulas: lists such as ["+", a, b], with Python's floor division and remainder, in integers of any length

function floordiv(a, b) {
  if (b === 0n) throw new RangeError("a division by 0");
  const q = a / b;
  return a % b !== 0n && (a < 0n) !== (b < 0n) ? q - 1n : q;
}
function broadcast(...sizes) {
  const found = new Set(sizes.filter((s) => s !== 1n));
  if (found.size > 1) throw new RangeError("sizes " + [...found].join(" and ") + " do not broadcast");
  return found.size ? [...found][0] : 1n;
}
const FUNCTIONS = {
  "+": (...xs) => xs.reduce((a, b) => a + b, 0n),
  "*": (...xs) => xs.reduce((a, b) => a * b, 1n),
  "**": (a, k) => a ** k,
  "//": floordiv,
  "%": (a, b) => a - b * floordiv(a, b),
  "max": (...xs) => xs.reduce((a, b) => (a > b ? a : b)),
  "min": (...xs) => xs.reduce((a, b) => (a < b ? a : b)),
  "broadcast": broadcast,
  "ceil_log2": (a) => (a > 1n ? BigInt((a - 1n).toString(2).length) : 0n),
};
const RELATIONS = {
  "==": (a, b) => a === b, "!=": (a, b) => a !== b, ">=": (a, b) => a >= b,
  "broadcasts": (a, b) => a === b || a === 1n || b === 1n, "stretches": (a, b) => a === b || a === 1n,
};
function evaluate(formula, sizes) {
  if (typeof formula === "string") return BigInt(formula);
  if (typeof formula === "number") return sizes[formula];
  return FUNCTIONS[formula[0]](...formula.slice(1).map((part) => evaluate(part, sizes)));
}
function grouped(number) { return number.toString().replace(/\B(?=(\d{3})+$)/g, " "); }
const MARKS = {exact: "", bound: "≤ "};
let refusing = false;
function numberOf(cost, sizes) {
  if (refusing) return "–";
  if (cost.kind === "unknown") return "?";
  try { return MARKS[cost.kind] + grouped(evaluate(cost.formula, sizes)); } catch { return "–"; }
}

// -- the box that is looked at

let pinned = null;
function clear() {
  for (const e of graph.querySelectorAll(".current, .reads, .readers")) e.classList.remove("current", "reads", "readers");
  graph.classList.remove("busy");
}
function look(boxes) {
  clear();
  graph.classList.add("busy");
  for (const i of boxes) {
    for (const e of touching[i]) {
      const role = e.head === i ? "reads" : "readers", other = e.head === i ? e.tail : e.head;
      e.line.classList.add(role);
      if (!boxes.includes(other)) box(other).classList.add(role);
    }
  }
  for (const i of boxes) { box(i).classList.remove("reads", "readers"); box(i).classList.add("current"); }
}
function link(i, text) {
  const made = element("a", text);
  made.tabIndex = 0;
  made.setAttribute("role", "button");
  const go = () => { pin([i]); show(i); bring(i); };
  made.addEventListener("click", go);
  made.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  return made;
}
function row(list, name, ...content) {
  list.append(element("dt", name));
  const value = element("dd");
  value.append(...content);
  list.append(value);
}
function listed(numbers, text) {
  return numbers.flatMap((n, k) => (k ? [document.createTextNode(", "), link(n, text(n, k))] : [link(n, text(n, k))]));
}
function typed(value) {
  const made = element("code", value.name + ": ");
  for (const [text, kind] of value.type) made.append(element("span", text, kind || undefined));
  return made;
}
function show(i) {
  const b = data.boxes[i], list = element("dl");
  const parts = [element("h2", b.kind === "node" ? "Node" : b.kind), element("b", b.title)];
  if (b.where) parts.push(element("div", b.where + (b.in ? " in " + b.in : ""), "hint"));
  if (b.line) parts.push(element("pre", b.line));
  b.values.forEach((v, k) => row(list, k ? "" : b.kind === "result" ? "value" : "gives", typed(v)));
  const name = (e) => e.name + (e.sizes ? " (sizes)" : "");
  if (b.reads.length) row(list, "reads", ...listed(b.reads.map((e) => e.tail), (_, k) => (b.kind === "node" ? `in${k} ` : "") + name(b.reads[k])));
  const readers = [...new Set(edges.filter((e) => e.tail === i).map((e) => e.head))];
  if (readers.length) row(list, "read by", ...listed(readers, (n) => data.boxes[n].label));
  for (const [key, value] of b.params) row(list, key, element(value.includes("\n") ? "pre" : "code", value));
  if (b.cost) {
    const names = {flops: "flops", read: "bytes read", written: "bytes written"};
    for (const key of Object.keys(names)) {
      const text = element("code", b.cost[key].text), now = numberOf(b.cost[key], sizes);
      row(list, names[key], text, document.createTextNode(text.textContent === now ? "" : " = " + now));
    }
  }
  parts.push(list);
  for (const n of b.conditions) {
    const c = data.conditions[n], line = element("div", undefined, "condition " + c.kind);
    line.append(element("span", c.kind + " ", "kind"), element("code", c.claim), element("span", c.why, "why"));
    parts.push(line);
  }
  detail.replaceChildren(...parts);
}
function pin(boxes, condition) {
  for (const e of document.querySelectorAll(".pinned")) e.classList.remove("pinned");
  pinned = boxes;
  if (condition) condition.classList.add("pinned");
  for (const i of boxes) mapBoxes[i].classList.add("pinned");
  look(boxes);
}
function release() {
  for (const e of document.querySelectorAll(".pinned")) e.classList.remove("pinned");
  pinned = null;
  clear();
  detail.replaceChildren(...hint);
}
data.boxes.forEach((_, i) => {
  const g = box(i);
  g.addEventListener("pointerenter", () => { if (!pinned) { look([i]); show(i); } });
  g.addEventListener("pointerleave", () => { if (!pinned) clear(); });
  g.addEventListener("focus", () => { if (!pinned) { look([i]); show(i); } });
  g.addEventListener("blur", () => { if (!pinned) clear(); });
  g.addEventListener("click", () => { if (!dragged) { pin([i]); show(i); } });
  g.addEventListener("keydown", (e) => { if (e.key === "Enter") { pin([i]); show(i); } });
});
for (const line of document.querySelectorAll(".conditions .condition")) {
  line.addEventListener("click", () => {
    const boxes = data.conditions[Number(line.dataset.condition)].boxes;
    pin(boxes, line);
    if (boxes.length) { show(boxes[0]); bring(boxes[0]); }
  });
}
for (const line of document.querySelectorAll("tr[data-box] a")) {
  const i = Number(line.closest("tr").dataset.box);
  line.addEventListener("click", () => { pin([i]); show(i); bring(i); });
  line.addEventListener("keydown", (e) => { if (e.key === "Enter") { pin([i]); show(i); bring(i); } });
}

// -- zoom, scroll, map

const LEGIBLE = 0.6;  // scale below which texts of boxes are too small to read
let scale = 1, dragged = false;
const whole = {width: data.width, height: data.height};
function zoom(to, x, y) {
  const rect = scroll.getBoundingClientRect(), place = graph.getBoundingClientRect();
  const px = x === undefined ? rect.left + rect.width / 2 : x, py = y === undefined ? rect.top + rect.height / 2 : y;
  const at = [(px - place.left) / scale, (py - place.top) / scale];
  scale = Math.min(4, Math.max(0.02, to));
  graph.setAttribute("width", whole.width * scale);
  graph.setAttribute("height", whole.height * scale);
  const now = graph.getBoundingClientRect();
  scroll.scrollLeft += now.left + at[0] * scale - px;
  scroll.scrollTop += now.top + at[1] * scale - py;
  drawView();
}
function fit() {
  zoom(Math.min(scroll.clientWidth / whole.width, scroll.clientHeight / whole.height));
}
function fitWidth() { zoom(scroll.clientWidth / whole.width); }
function fitAtFirst() {
  const wide = Math.min(1, scroll.clientWidth / whole.width), all = Math.min(wide, scroll.clientHeight / whole.height);
  zoom(all >= LEGIBLE ? all : Math.max(wide, LEGIBLE));  // a tall graph opens at its top, as wide as the window
}
function bring(i) {
  const at = box(i).getBoundingClientRect(), seen = scroll.getBoundingClientRect();
  scroll.scrollLeft += at.left + at.width / 2 - seen.left - seen.width / 2;
  scroll.scrollTop += at.top + at.height / 2 - seen.top - seen.height / 2;
}
const map = document.getElementById("map"), view = document.getElementById("map-view");
const tall = whole.height > 4 * whole.width;  // then the map is a strip along the side
const small = Math.min(110 / whole.width, (tall ? Math.max(scroll.clientHeight - 20, 260) : 260) / whole.height);
map.setAttribute("viewBox", `0 0 ${whole.width} ${whole.height}`);
map.setAttribute("width", Math.max(26, whole.width * small));
map.setAttribute("height", Math.max(26, whole.height * small));
const mapBoxes = data.boxes.map((b) => {
  const made = document.createElementNS(map.namespaceURI, "rect");
  const least = 2.5 / small;
  const [x, y, width, height] = b.place;
  for (const [k, v] of Object.entries({x, y, width: Math.max(width, least), height: Math.max(height, least)})) made.setAttribute(k, v);
  document.getElementById("map-boxes").append(made);
  return made;
});
view.setAttribute("stroke-width", 2 / small);
function drawView() {
  const at = graph.getBoundingClientRect(), seen = scroll.getBoundingClientRect();
  const values = {x: (seen.left - at.left) / scale, y: (seen.top - at.top) / scale, width: scroll.clientWidth / scale, height: scroll.clientHeight / scale};
  for (const [k, v] of Object.entries(values)) view.setAttribute(k, v);
  const shown = values.width >= whole.width * 1.02 && values.height >= whole.height * 1.02;
  map.style.visibility = shown ? "hidden" : "";
}
function jump(e) {
  const at = map.getBoundingClientRect();
  scroll.scrollLeft = (e.clientX - at.left) / at.width * whole.width * scale - scroll.clientWidth / 2;
  scroll.scrollTop = (e.clientY - at.top) / at.height * whole.height * scale - scroll.clientHeight / 2;
}
map.addEventListener("pointerdown", (e) => { map.setPointerCapture(e.pointerId); jump(e); });
map.addEventListener("pointermove", (e) => { if (e.buttons) jump(e); });
scroll.addEventListener("scroll", drawView);
new ResizeObserver(drawView).observe(scroll);
scroll.addEventListener("wheel", (e) => {
  if (e.ctrlKey || e.metaKey) { e.preventDefault(); zoom(scale * Math.exp(-e.deltaY / 300), e.clientX, e.clientY); }
}, {passive: false});
let held = null;
scroll.addEventListener("pointerdown", (e) => {
  dragged = false;
  if (e.button === 0 && e.pointerType === "mouse" && e.offsetX < scroll.scrollWidth) held = [e.clientX, e.clientY, scroll.scrollLeft, scroll.scrollTop];
});
window.addEventListener("pointermove", (e) => {
  if (!held) return;
  const [x, y] = [e.clientX - held[0], e.clientY - held[1]];
  if (Math.abs(x) + Math.abs(y) > 4) { dragged = true; scroll.classList.add("held"); }
  if (dragged) { scroll.scrollLeft = held[2] - x; scroll.scrollTop = held[3] - y; }
});
window.addEventListener("pointerup", () => { held = null; scroll.classList.remove("held"); });
document.getElementById("in").addEventListener("click", () => zoom(scale * 1.25));
document.getElementById("out").addEventListener("click", () => zoom(scale / 1.25));
document.getElementById("one").addEventListener("click", () => zoom(1));
document.getElementById("fit").addEventListener("click", fit);
document.getElementById("width").addEventListener("click", fitWidth);

// -- search

const search = document.getElementById("search"), found = document.getElementById("found");
let hits = [], at = 0;
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  hits = wanted ? data.boxes.flatMap((b, i) => (b.text.toLowerCase().includes(wanted) ? [i] : [])) : [];
  data.boxes.forEach((_, i) => {
    box(i).classList.toggle("hit", hits.includes(i));
    mapBoxes[i].classList.toggle("hit", hits.includes(i));
  });
  found.textContent = wanted ? hits.length + (hits.length === 1 ? " box" : " boxes") : "";
  at = -1;
});
search.addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !hits.length) return;
  at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
  found.textContent = `${at + 1} of ${hits.length}`;
  pin([hits[at]]); show(hits[at]); bring(hits[at]);
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { release(); search.blur(); return; }
  if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = {"+": () => zoom(scale * 1.25), "=": () => zoom(scale * 1.25), "-": () => zoom(scale / 1.25), "0": fit, "w": fitWidth, "1": () => zoom(1), "/": () => search.focus()};
  if (keys[e.key]) { e.preventDefault(); keys[e.key](); }
});

// -- numbers for the sizes

const inputs = data.sizes.map((_, i) => document.getElementById("size-" + i));
const sliders = data.sizes.map((_, i) => document.getElementById("slider-" + i));
let sizes = inputs.map((input) => BigInt(input.value));
function recount() {
  const wrong = [];
  sizes = inputs.map((input, i) => {
    const text = input.value.trim(), {lower, upper} = data.sizes[i];
    if (!/^-?\d+$/.test(text)) { wrong.push(`${data.sizes[i].name} needs a whole number`); return 0n; }
    const value = BigInt(text);
    if (value < BigInt(lower) || (upper !== null && value > BigInt(upper))) wrong.push(`${data.sizes[i].name} is out of its range`);
    return value;
  });
  data.conditions.forEach((c, n) => {
    let holds = false;
    try { holds = RELATIONS[c.relation](evaluate(c.left, sizes), evaluate(c.right, sizes)); } catch { holds = false; }
    if (!holds) wrong.push(`${c.claim} does not hold`);
    const line = document.querySelector(`.conditions [data-condition="${n}"]`);
    if (line) line.classList.toggle("broken", !holds);
  });
  refusing = wrong.length > 0;
  const refused = document.getElementById("refused");
  refused.textContent = wrong.length ? "The program refuses these sizes: " + wrong.join("; ") : "";
  for (const cell of document.querySelectorAll("td[data-cost]")) {
    const [i, key] = cell.dataset.cost.split(":");
    const cost = i === "total" ? data.total[key] : data.boxes[Number(i)].cost[key];
    cell.textContent = numberOf(cost, sizes);
  }
  if (pinned && pinned.length) show(pinned[0]);
}
inputs.forEach((input, i) => input.addEventListener("input", () => { sliders[i].value = input.value; recount(); }));
sliders.forEach((slider, i) => slider.addEventListener("input", () => { inputs[i].value = slider.value; recount(); }));
recount();
fitAtFirst();
const top_ = data.boxes.reduce((a, b, i) => (b.place[1] < data.boxes[a].place[1] ? i : a), 0);
if (data.boxes.length) scroll.scrollLeft = (data.boxes[top_].place[0] + data.boxes[top_].place[2] / 2) * scale - scroll.clientWidth / 2;
scroll.scrollTop = 0;
drawView();
