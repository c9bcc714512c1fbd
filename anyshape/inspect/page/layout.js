// -- places of boxes: each sheet was laid out with all its boxes folded; a box that unfolds pushes others aside

const GAP = 26, GAP_OF_LINES = 14, FRAME = {side: 14, top: 28, bottom: 14, between: 30, title: 18};

function rowsOf(sheet) {
  const rows = [];
  for (const [box, x, y, width, height, row] of sheet.boxes) {
    rows[row] ??= {top: Infinity, height: 0, items: []};
    rows[row].items.push({box, width, x: x + width / 2});
    if (height > rows[row].height) Object.assign(rows[row], {top: y, height});
  }
  sheet.links.forEach((link, k) => {
    const bends = link[6] ?? [];
    const tail = sheet.row[link[0]];
    bends.forEach((x, n) => rows[tail + 1 + n].items.push({link: k, bend: n, width: 0, x}));
  });
  for (const row of rows) row.items.sort((a, b) => a.x - b.x);
  return rows;
}
// Positions nearest to those of the folded sheet, in order and with gaps: weighted least squares by pooling violators.
function settle(items) {
  let shift = 0;
  const pools = [], shifts = items.map((item, k) => {
    if (k) {
      const before = items[k - 1], lines = before.bend !== undefined && item.bend !== undefined;
      shift += (before.wide + item.wide) / 2 + (lines ? GAP_OF_LINES : GAP);
    }
    return shift;
  });
  items.forEach((item, k) => {
    let pool = {mean: item.x - shifts[k], count: 1};
    while (pools.length && pools.at(-1).mean > pool.mean) {
      const last = pools.pop(), count = last.count + pool.count;
      pool = {mean: (last.mean * last.count + pool.mean * pool.count) / count, count};
    }
    pools.push(pool);
  });
  let k = 0;
  for (const pool of pools) for (let n = 0; n < pool.count; n++, k++) items[k].at = pool.mean + shifts[k];
}
// Size of a box that is folded or unfolded, with the sheets inside of it.
function shapeOf(box, width, height, open) {
  if (!open.has(box)) return {width, height, inside: []};
  const inside = data.boxes[box].inside.map((n) => place(n, open));
  const titled = inside.length > 1 || data.boxes[box].kind !== "group" ? FRAME.title : 0;
  const across = inside.reduce((sum, s) => sum + s.width, FRAME.between * (inside.length - 1));
  const tallest = Math.max(...inside.map((s) => s.height));
  return {
    width: Math.max(width, across + 2 * FRAME.side), titled, inside, across,
    height: FRAME.top + titled + tallest + FRAME.bottom,
  };
}
function place(number, open) {
  const sheet = data.sheets[number];
  if (!sheet.row) {
    sheet.row = {};
    for (const b of sheet.boxes) sheet.row[b[0]] = b[5];
  }
  const rows = rowsOf(sheet), shapes = {}, bends = {}, boxes = [];
  for (const [box, , , width, height] of sheet.boxes) shapes[box] = shapeOf(box, width, height, open);
  const changed = sheet.boxes.some((b) => open.has(b[0]));
  let bottom = 0, before = 0;
  for (const row of rows) {
    row.gap = row.top - before;
    before = row.top + row.height;
    for (const item of row.items) item.wide = item.box === undefined ? 0 : shapes[item.box].width;
    if (changed) settle(row.items); else for (const item of row.items) item.at = item.x;
    row.y = bottom + row.gap;
    row.tall = Math.max(row.height, ...row.items.map((item) => (item.box === undefined ? 0 : shapes[item.box].height)));
    bottom = row.y + row.tall;
  }
  const ends = rows.flatMap((row) => row.items.map((item) => [item.at - item.wide / 2, item.at + item.wide / 2]));
  const left = Math.min(0, ...ends.map((e) => e[0])), right = Math.max(0, ...ends.map((e) => e[1]));
  for (const row of rows) {
    for (const item of row.items) {
      if (item.box === undefined) (bends[item.link] ??= [])[item.bend] = [item.at - left, row.y, row.y + row.tall];
      else {
        const shape = shapes[item.box];
        const room = shape.inside.length ? shape.height : row.height;  // beside unfolded boxes the others stand at the top
        boxes.push({box: item.box, x: item.at - left - shape.width / 2, y: row.y + (room - shape.height) / 2, ...shape});
      }
    }
  }
  return {number, boxes, bends, width: right - left, height: bottom};
}

// -- all that is shown, in the coordinates of the drawing

const MARGIN = 30;
function arranged(open) {
  const whole = place(0, open), shown = {boxes: [], lines: [], marks: [], titles: []};
  spread(whole, MARGIN, MARGIN, shown);
  return {...shown, width: whole.width + 2 * MARGIN, height: whole.height + 2 * MARGIN};
}
function spread(placed, x, y, shown) {
  const sheet = data.sheets[placed.number], at = {};
  for (const b of placed.boxes) {
    at[b.box] = {box: b.box, x: x + b.x, y: y + b.y, width: b.width, height: b.height, open: b.inside.length > 0};
    shown.boxes.push(at[b.box]);
    let left = x + b.x + (b.width - (b.across ?? 0)) / 2;
    for (const inner of b.inside) {
      const top = y + b.y + FRAME.top;
      if (b.titled) shown.titles.push({x: left, y: top + 11, text: data.sheets[inner.number].title});
      spread(inner, left, top + b.titled, shown);
      left += inner.width + FRAME.between;
    }
  }
  sheet.links.forEach((link, k) => {
    const [tail, head, names, sizes, leaves, enters, bends] = link, from = at[tail], to = at[head];
    const start = [from.x + from.width * leaves, from.y + from.height], end = [to.x + to.width * enters, to.y];
    const route = (placed.bends[k] ?? []).flatMap(([u, above, below]) => [[x + u, y + above], [x + u, y + below]]);
    shown.lines.push({tail, head, names, sizes, points: [start, ...route, end], far: bends === null});
    if (bends === null) {
      shown.marks.push({tail, head, names, sizes, end});
      if (!sizes) shown.marks.push({tail, head, names, start});
    }
  });
  for (const [tail, head, names, sizes, , enters] of sheet.marks) {
    const to = at[head];
    shown.marks.push({tail, head, names, sizes, end: [to.x + to.width * enters, to.y]});
  }
}

