"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

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

