// -- drawing: what comes from the program reaches the page as text, never as markup

const graph = document.getElementById("graph"), scroll = document.getElementById("scroll");
const detail = document.getElementById("detail"), hint = [...detail.childNodes];
const SVG = "http://www.w3.org/2000/svg";
const CHARACTERS = {title: 34, name: 14, extent: 18, params: 30, mark: 9}, LINE = 16, PAD = 15;
const BY_TYPE = ["dtype", "shape", "size", "sizes"];  // params that the type of the result shows
const AT_FIRST = Math.min(60, Math.round(innerWidth * innerHeight / 18000));  // boxes that are shown at first
const MOST_SHOWN = 2000;  // boxes that are unfolded at once
const open = new Set();
let whole, shown = new Map(), edges = [], touching = new Map();

function element(name, text, className) {
  const made = document.createElement(name);
  if (text !== undefined) made.textContent = text;
  if (className) made.className = className;
  return made;
}
function drawn(name, attributes, ...content) {
  const made = document.createElementNS(SVG, name);
  for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v);
  made.append(...content);
  return made;
}
const cut = (text, most) => (text.length <= most ? text : text.slice(0, most - 1) + "…");
const lineOf = (b) => (b.where === undefined ? null : data.lines[b.where]);
const typeOf = (value) => data.types[value[1]];
const paramsOf = (b) => (b.params === undefined ? [] : data.params[b.params]);
const typeText = (value) => typeOf(value).map((piece) => piece[0]).join("");
const labelOf = (b) => [...new Set([b.title, ...(b.values ?? []).map((v) => v[0])])].join(" ");
function guarantee(b) {
  const kinds = (b.values ?? []).flatMap((v) => typeOf(v).map((piece) => piece[1]));
  return kinds.includes("unknown") ? "unknown" : kinds.includes("bound") ? "bound" : "exact";
}
function linesOf(b) {
  if (b.kind === "group") {
    const where = lineOf(b);
    const count = b.count + " boxes" + (where ? "  " + where[3] : "");
    return [["title", [[cut(b.title, CHARACTERS.title)]]], ["params", [[cut(count, CHARACTERS.params)]]]];
  }
  const lines = [["title", [[cut(b.title, CHARACTERS.title)]]]];
  for (const value of b.values) {
    const pieces = typeOf(value).map(([text, kind]) => [kind ? cut(text, CHARACTERS.extent) : text, kind]);
    lines.push(["value", value[0] === b.title ? pieces : [[cut(value[0], CHARACTERS.name) + ": "], ...pieces]]);
  }
  const params = paramsOf(b).filter(([k, v]) => !BY_TYPE.includes(k) && v.replace(/^[(), ]+/, "")).map(([k, v]) => k + "=" + v);
  return params.length ? [...lines, ["params", [[cut(params.join(", "), CHARACTERS.params)]]]] : lines;
}
function drawBox({box, x, y, width, height, open: isOpen}) {
  const b = data.boxes[box], folds = Boolean(b.inside);
  const where = lineOf(b);
  const label = [b.title, ...(b.values ?? []).map((v) => `${v[0]}: ${typeText(v)}`), ...(where ? [`${where[3]}  ${where[2]}`] : [])];
  const g = drawn("g", {
    id: "box-" + box, class: `box ${b.kind} of-${guarantee(b)}${folds ? " folds" : ""}${isOpen ? " open" : ""}`, tabindex: 0,
    role: "button", transform: `translate(${x.toFixed(1)},${y.toFixed(1)})`, "aria-label": label.join(", "),
  });
  if (folds) g.setAttribute("aria-expanded", isOpen);
  const rounded = ["input", "hidden", "result"].includes(b.kind) ? 12 : 5;
  if (folds && !isOpen) g.append(drawn("rect", {class: "behind", x: 4, y: 4, width, height, rx: rounded}));
  g.append(drawn("rect", {class: "frame", width, height, rx: rounded}));
  if (b.kind !== "group") g.append(drawn("rect", {class: "stripe", x: 4, y: rounded - 2, width: 4, height: height - 2 * rounded + 4}));
  const lines = isOpen ? linesOf(b).slice(0, 1) : linesOf(b);
  lines.forEach(([style, pieces], k) => {
    const text = drawn("text", {class: style, x: PAD, y: LINE * (k + 1) + (isOpen ? 3 : 0)});
    if (k === 0 && folds) text.append(drawn("tspan", {class: "sign"}, isOpen ? "▾ " : "▸ "));
    for (const [piece, kind] of pieces) text.append(kind ? drawn("tspan", {class: kind}, piece) : piece);
    g.append(text);
  });
  listen(g, box);
  return g;
}
function curve(points) {
  let [[x, y], ...rest] = points, path = `M${x.toFixed(1)},${y.toFixed(1)}`;
  rest.forEach(([u, v], k) => {
    const middle = ((y + v) / 2).toFixed(1), end = `${u.toFixed(1)},${v.toFixed(1)}`;
    path += k % 2 ? "L" + end : `C${x.toFixed(1)},${middle} ${u.toFixed(1)},${middle} ${end}`;
    [x, y] = [u, v];
  });
  return path;
}
function drawLine({names, sizes, points, far}) {
  const classes = ["edge", ...(sizes ? ["sizes"] : []), ...(far ? ["far"] : [])].join(" ");
  const path = drawn("path", {class: classes, "marker-end": "url(#arrow)", d: curve(points)});
  path.append(drawn("title", {}, names.slice(0, 12).join(", ") + (names.length > 12 ? ", ..." : "") + (sizes ? " (sizes)" : "")));
  return path;
}
function drawMark({names, sizes, end, start}) {
  if (start) {
    const [x, y] = start;
    return drawn("g", {class: "edge-mark"}, drawn("path", {class: "edge", d: `M${x},${y}V${y + 9}`}), drawn("circle", {class: "mark", cx: x, cy: y + 11, r: 3}));
  }
  const [x, y] = end, text = names.length > 1 ? names.length + " values" : cut(names[0], CHARACTERS.mark);
  const width = text.length * 6.2 + 10, top = y - 24, dashed = sizes ? " sizes" : "";
  return drawn("g", {class: "edge-mark"},
    drawn("path", {class: "edge" + dashed, "marker-end": "url(#arrow)", d: `M${x},${y - 9}L${x},${y}`}),
    drawn("rect", {class: "mark" + dashed, x: x - width / 2, y: top, width, height: 15, rx: 7}),
    drawn("text", {class: "mark-text", x, y: top + 11}, text), drawn("title", {}, names.slice(0, 12).join(", ")));
}
function draw() {
  const at = arranged(open);
  whole = {width: at.width, height: at.height};
  graph.setAttribute("viewBox", `0 0 ${at.width} ${at.height}`);
  shown = new Map(at.boxes.map((b) => [b.box, {...b, g: drawBox(b)}]));
  edges = [];
  touching = new Map();
  const add = (e, line) => {
    edges.push({line, tail: e.tail, head: e.head});
    for (const end of new Set([visible(e.tail), e.head])) {
      if (!touching.has(end)) touching.set(end, []);
      touching.get(end).push(edges.at(-1));
    }
    return line;
  };
  const frames = drawn("g", {}), lines = drawn("g", {}), marks = drawn("g", {}), boxes = drawn("g", {});
  for (const b of shown.values()) (b.open ? frames : boxes).append(b.g);
  for (const e of at.lines) lines.append(add(e, drawLine(e)));
  for (const e of at.marks) marks.append(add(e, drawMark(e)));
  for (const t of at.titles) marks.append(drawn("text", {class: "params sheet", x: t.x, y: t.y}, t.text));
  document.getElementById("drawn").replaceChildren(frames, lines, marks, boxes);
  drawMap();
  mark();
  if (pinned) look(pinned);
}
// The box itself, or the folded one that hides it.
function visible(box) {
  let at = box;
  while (!shown.has(at)) at = data.sheets[data.boxes[at].home].owner;
  return at;
}
function owners(box) {
  const all = [];
  for (let at = data.sheets[data.boxes[box].home].owner; at !== null; at = data.sheets[data.boxes[at].home].owner) all.push(at);
  return all;
}
function reveal(box) {
  const closed = owners(box).filter((o) => !open.has(o));
  for (const o of closed) open.add(o);
  if (closed.length) keepingScale(draw);
}
function toggle(box, to) {
  const now = to ?? !open.has(box);
  if (now) open.add(box); else open.delete(box);
  const before = shown.get(box).g.getBoundingClientRect();
  keepingScale(draw);
  const after = shown.get(box).g.getBoundingClientRect();  // its corner stays where it was, as far as that can be seen
  const seen = scroll.getBoundingClientRect();
  scroll.scrollLeft += after.left - Math.max(before.left - (after.width - before.width) / 2, seen.left + 8);
  scroll.scrollTop += after.top - Math.max(before.top, seen.top + 8);
}
function openAtFirst() {
  let room = AT_FIRST - data.sheets[0].boxes.length;
  const queue = [0];
  while (queue.length) {
    for (const [box] of data.sheets[queue.shift()].boxes) {
      const b = data.boxes[box], size = (b.inside ?? []).reduce((sum, n) => sum + data.sheets[n].boxes.length, 0);
      if (b.kind !== "group" || size > room) continue;
      room -= size;
      open.add(box);
      queue.push(...b.inside);
    }
  }
}

// -- the box that is looked at

let pinned = null;
function clear() {
  for (const e of graph.querySelectorAll(".current, .reads, .readers, .within, .around")) e.classList.remove("current", "reads", "readers", "within", "around");
  graph.classList.remove("busy");
}
function look(numbers) {
  clear();
  graph.classList.add("busy");
  const boxes = [...new Set(numbers.map(visible))];
  const inside = (box) => boxes.some((i) => i === box || owners(box).includes(i));
  for (const i of boxes) {
    for (const e of touching.get(i) ?? []) {
      const role = e.head === i ? "reads" : "readers", other = e.head === i ? visible(e.tail) : e.head;
      e.line.classList.add(role);
      if (!boxes.includes(other)) shown.get(other).g.classList.add(role);
    }
  }
  for (const [box, {g}] of shown) if (inside(box)) g.classList.add(boxes.includes(box) ? "current" : "within");
  for (const i of boxes) {
    shown.get(i).g.classList.remove("reads", "readers");
    for (const o of owners(i)) shown.get(o).g.classList.add("around");
  }
}
function link(i, text) {
  const made = element("a", text);
  made.tabIndex = 0;
  made.setAttribute("role", "button");
  const go = () => goTo(i);
  made.addEventListener("click", go);
  made.addEventListener("keydown", (e) => { if (e.key === "Enter") go(); });
  return made;
}
function goTo(i) {
  reveal(i);
  pin([i]);
  show(i);
  bring(i);
}
function row(list, name, ...content) {
  list.append(element("dt", name));
  const value = element("dd");
  value.append(...content);
  list.append(value);
}
function listed(numbers, text) {
  const links = numbers.slice(0, 40).flatMap((n, k) => (k ? [document.createTextNode(", "), link(n, text(n, k))] : [link(n, text(n, k))]));
  return numbers.length > 40 ? [...links, document.createTextNode(` and ${numbers.length - 40} more`)] : links;
}
function typed(value) {
  const made = element("code", value[0] + ": ");
  for (const [text, kind] of typeOf(value)) made.append(element("span", text, kind || undefined));
  return made;
}
let readersOf = null;
function readers(i) {
  if (!readersOf) {
    readersOf = data.boxes.map(() => []);
    data.boxes.forEach((b, n) => { for (const [tail] of b.reads ?? []) if (readersOf[tail].at(-1) !== n) readersOf[tail].push(n); });
  }
  return readersOf[i];
}
const COSTS = {flops: "flops", read: "bytes read", written: "bytes written"};
function show(i) {
  const b = data.boxes[i], list = element("dl"), where = lineOf(b);
  const parts = [element("h2", b.kind), element("b", b.title)];
  if (where) parts.push(element("div", where[0] + (where[1] ? " in " + where[1] : ""), "hint"));
  if (where && where[2]) parts.push(element("pre", where[2]));
  if (b.kind === "group") showGroup(i, b, list);
  else showNode(i, b, list);
  parts.push(list);
  for (const n of b.conditions ?? []) {
    const c = data.conditions[n], line = element("div", undefined, "condition " + c.kind);
    line.append(element("span", c.kind + " ", "kind"), element("code", c.claim), element("span", c.why, "why"));
    parts.push(line);
  }
  detail.replaceChildren(...parts);
}
function showNode(i, b, list) {
  b.values.forEach((v, k) => row(list, k ? "" : b.kind === "result" ? "value" : "gives", typed(v)));
  const name = ([, text, sizes]) => text + (sizes ? " (sizes)" : "");
  if (b.reads.length) row(list, "reads", ...listed(b.reads.map((e) => e[0]), (_, k) => (b.kind === "node" ? `in${k} ` : "") + name(b.reads[k])));
  if (readers(i).length) row(list, "read by", ...listed(readers(i), (n) => labelOf(data.boxes[n])));
  for (const [key, value] of paramsOf(b)) row(list, key, element(value.includes("\n") ? "pre" : "code", value));
  if (b.inside) row(list, "inside", element("code", b.inside.map((n) => data.sheets[n].title).join(", ")));
  if (b.cost === undefined) return;
  for (const [key, words] of Object.entries(COSTS)) {
    const cost = data.costs[b.cost][key], now = numberOf(cost, sizes);
    row(list, words, element("code", cost.text), document.createTextNode(cost.text === now ? "" : " = " + now));
  }
}
function within(i) {
  const b = data.boxes[i];
  return b.kind === "group" ? b.inside.flatMap((n) => data.sheets[n].boxes.flatMap(([box]) => within(box))) : [i];
}
function showGroup(i, b, list) {
  row(list, "boxes", document.createTextNode(b.count), document.createTextNode(open.has(i) ? ", a click on its title folds it" : ", a click unfolds it"));
  const costs = within(i).map((n) => data.boxes[n].cost).filter((c) => c !== undefined).map((c) => data.costs[c]);
  if (!costs.length) return;
  for (const [key, words] of Object.entries(COSTS)) row(list, words, element("code", total(costs.map((c) => c[key]))));
}
function total(costs) {
  if (refusing) return "–";
  if (costs.some((c) => c.kind === "unknown")) return "?";
  try {
    const sum = costs.reduce((all, c) => all + evaluate(c.formula, sizes), 0n);
    return (costs.some((c) => c.kind === "bound") ? MARKS.bound : "") + grouped(sum);
  } catch { return "–"; }
}
function pin(boxes, condition) {
  for (const e of document.querySelectorAll(".pinned")) e.classList.remove("pinned");
  pinned = boxes;
  if (condition) condition.classList.add("pinned");
  mark();
  look(boxes);
}
function release() {
  for (const e of document.querySelectorAll(".pinned")) e.classList.remove("pinned");
  pinned = null;
  clear();
  detail.replaceChildren(...hint);
}
function listen(g, i) {
  const folds = Boolean(data.boxes[i].inside);
  const choose = (unfold) => {
    pin([i]);
    show(i);
    if (folds && unfold) { toggle(i); show(i); shown.get(i).g.focus({preventScroll: true}); }
  };
  g.addEventListener("pointerenter", (e) => { if (!pinned && e.pointerType === "mouse" && !open.has(i)) { look([i]); show(i); } });
  g.addEventListener("pointerleave", () => { if (!pinned) clear(); });
  g.addEventListener("focus", () => { if (!pinned && g.matches(":focus-visible")) { look([i]); show(i); } });
  g.addEventListener("blur", () => { if (!pinned) clear(); });
  g.addEventListener("click", (e) => {
    if (dragged) return;
    const y = (e.clientY - g.getBoundingClientRect().top) / scale;
    if (!open.has(i) || y < FRAME.top) choose(true);
  });
  g.addEventListener("keydown", (e) => { if (e.key === "Enter" || e.key === " ") { e.preventDefault(); choose(true); } });
}
for (const line of document.querySelectorAll(".conditions .condition")) {
  line.addEventListener("click", () => {
    const boxes = data.conditions[Number(line.dataset.condition)].boxes;
    if (boxes.length) reveal(boxes[0]);
    pin(boxes, line);
    if (boxes.length) { show(boxes[0]); bring(boxes[0]); }
  });
}

// -- zoom, scroll, map

const LEGIBLE = 0.6;  // scale below which texts of boxes are too small to read
let scale = 1, dragged = false;
function resize() {
  graph.setAttribute("width", whole.width * scale);
  graph.setAttribute("height", whole.height * scale);
}
function keepingScale(change) { change(); resize(); drawView(); }
function zoom(to, x, y) {
  const rect = scroll.getBoundingClientRect(), place = graph.getBoundingClientRect();
  const px = x === undefined ? rect.left + rect.width / 2 : x, py = y === undefined ? rect.top + rect.height / 2 : y;
  const at = [(px - place.left) / scale, (py - place.top) / scale];
  scale = Math.min(4, Math.max(0.02, to));
  resize();
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
  const at = shown.get(visible(i)).g.getBoundingClientRect(), seen = scroll.getBoundingClientRect();
  scroll.scrollLeft += at.left + at.width / 2 - seen.left - seen.width / 2;
  scroll.scrollTop += at.top + Math.min(at.height, seen.height) / 2 - seen.top - seen.height / 2;
}
const map = document.getElementById("map"), view = document.getElementById("map-view");
let mapBoxes = new Map();
function drawMap() {
  const tall = whole.height > 4 * whole.width;  // then the map is a strip along the side
  const small = Math.min(110 / whole.width, (tall ? Math.max(scroll.clientHeight - 20, 260) : 260) / whole.height);
  map.setAttribute("viewBox", `0 0 ${whole.width} ${whole.height}`);
  map.setAttribute("width", Math.max(26, whole.width * small));
  map.setAttribute("height", Math.max(26, whole.height * small));
  view.setAttribute("stroke-width", 2 / small);
  const least = 2.5 / small;
  mapBoxes = new Map([...shown.values()].map(({box, x, y, width, height, open: isOpen}) => [box, drawn("rect", {
    x, y, width: Math.max(width, least), height: Math.max(height, least), class: isOpen ? "open" : "", "stroke-width": 1 / small,
  })]));
  document.getElementById("map-boxes").replaceChildren(...mapBoxes.values());
}
function mark() {
  const chosen = new Set((pinned ?? []).map(visible)), matches = new Set(hits.map(visible));
  for (const [box, {g}] of shown) {
    g.classList.toggle("hit", matches.has(box));
    mapBoxes.get(box).classList.toggle("hit", matches.has(box));
    mapBoxes.get(box).classList.toggle("pinned", chosen.has(box));
  }
}
function drawView() {
  const at = graph.getBoundingClientRect(), seen = scroll.getBoundingClientRect();
  const values = {x: (seen.left - at.left) / scale, y: (seen.top - at.top) / scale, width: scroll.clientWidth / scale, height: scroll.clientHeight / scale};
  for (const [k, v] of Object.entries(values)) view.setAttribute(k, v);
  const all = values.width >= whole.width * 1.02 && values.height >= whole.height * 1.02;
  map.style.visibility = all ? "hidden" : "";
}
function jump(e) {
  const at = map.getBoundingClientRect();
  scroll.scrollLeft = (e.clientX - at.left) / at.width * whole.width * scale - scroll.clientWidth / 2;
  scroll.scrollTop = (e.clientY - at.top) / at.height * whole.height * scale - scroll.clientHeight / 2;
}
map.addEventListener("pointerdown", (e) => { map.setPointerCapture(e.pointerId); jump(e); });
map.addEventListener("pointermove", (e) => { if (e.buttons) jump(e); });
scroll.addEventListener("scroll", drawView);
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
const foldable = data.boxes.flatMap((b, i) => (b.inside ? [i] : []));
function foldAll() {
  open.clear();
  draw();
  fitAtFirst();
}
function unfoldLevel() {
  const level = [...shown.keys()].filter((i) => data.boxes[i].inside && !open.has(i));
  const count = level.flatMap((i) => data.boxes[i].inside).reduce((sum, n) => sum + data.sheets[n].boxes.length, shown.size);
  found.textContent = count > MOST_SHOWN ? `${count} boxes are too many: unfold some by a click` : "";
  if (count > MOST_SHOWN) return;
  for (const i of level) open.add(i);
  draw();
  fitAtFirst();
}
const BUTTONS = {
  in: () => zoom(scale * 1.25), out: () => zoom(scale / 1.25), one: () => zoom(1), fit, width: fitWidth,
  fold: foldAll, unfold: unfoldLevel,
};
for (const [name, act] of Object.entries(BUTTONS)) document.getElementById(name).addEventListener("click", act);
for (const name of ["fold", "unfold"]) document.getElementById(name).hidden = !foldable.length;

// -- search

const search = document.getElementById("search"), found = document.getElementById("found");
let hits = [], at = 0, texts = null;
function textOf(b) {
  const where = lineOf(b);
  return [b.title, ...(b.values ?? []).map((v) => `${v[0]}: ${typeText(v)}`), ...(where ? [where[3], where[1]] : [])].join(" ").toLowerCase();
}
search.addEventListener("input", () => {
  const wanted = search.value.trim().toLowerCase();
  texts ??= data.boxes.map(textOf);
  hits = wanted ? texts.flatMap((text, i) => (text.includes(wanted) ? [i] : [])) : [];
  mark();
  found.textContent = wanted ? hits.length + (hits.length === 1 ? " box" : " boxes") : "";
  at = -1;
});
search.addEventListener("keydown", (e) => {
  if (e.key !== "Enter" || !hits.length) return;
  at = (at + (e.shiftKey ? hits.length - 1 : 1)) % hits.length;
  found.textContent = `${at + 1} of ${hits.length}`;
  goTo(hits[at]);
});
document.addEventListener("keydown", (e) => {
  if (e.key === "Escape") { release(); search.blur(); return; }
  if (e.target instanceof HTMLInputElement || e.ctrlKey || e.metaKey || e.altKey) return;
  const keys = {"+": BUTTONS.in, "=": BUTTONS.in, "-": BUTTONS.out, "0": fit, "w": fitWidth, "1": BUTTONS.one, "/": () => search.focus()};
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
  for (const cell of document.querySelectorAll("td[data-cost]")) cell.textContent = numberOf(data.total[cell.dataset.cost], sizes);
  fillCosts();
  if (pinned && pinned.length) show(pinned[0]);
}
inputs.forEach((input, i) => input.addEventListener("input", () => { sliders[i].value = input.value; recount(); }));
sliders.forEach((slider, i) => slider.addEventListener("input", () => { inputs[i].value = slider.value; recount(); }));

// -- costs of nodes, a part of the table at a time

const PART = 200, costly = data.boxes.flatMap((b, i) => (b.cost === undefined ? [] : [i]));
const costs = document.getElementById("costs"), body = costs.querySelector("tbody"), more = document.getElementById("more");
let rows = 0;
function fillCosts() {
  if (!costs.open) return;
  body.replaceChildren(...costly.slice(0, rows).flatMap((i) => {
    const b = data.boxes[i], cost = data.costs[b.cost], keys = Object.keys(COSTS);
    const formulas = element("tr"), numbers = element("tr"), name = element("td");
    name.rowSpan = 2;
    name.append(link(i, labelOf(b)));
    formulas.append(name, ...keys.map((key) => element("td", cost[key].text, cost[key].kind)));
    numbers.append(...keys.map((key) => element("td", numberOf(cost[key], sizes), "number")));
    return [formulas, numbers];
  }));
  more.hidden = rows >= costly.length;
  more.textContent = `${Math.min(PART, costly.length - rows)} more of ${costly.length - rows}`;
}
function addCosts() { rows = Math.min(costly.length, rows + PART); fillCosts(); }
costs.addEventListener("toggle", () => { if (costs.open && !rows) addCosts(); else fillCosts(); });
more.addEventListener("click", addCosts);

openAtFirst();
draw();
recount();
fitAtFirst();
const first = [...shown.values()].reduce((a, b) => (b.y < a.y ? b : a), {y: Infinity});
if (shown.size) scroll.scrollLeft = (first.x + first.width / 2) * scale - scroll.clientWidth / 2;
scroll.scrollTop = 0;
new ResizeObserver(drawView).observe(scroll);
drawView();
