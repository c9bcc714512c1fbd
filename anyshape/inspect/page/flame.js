"use strict";
// Everything of the program is on the page as text; the script moves bars and nothing else.
const told = document.getElementById("told"), found = document.getElementById("found");
const bars = [...document.querySelectorAll(".bar")].map((bar) => ({
  bar, flame: bar.parentElement, left: Number(bar.dataset.left), width: Number(bar.dataset.width),
  level: Number(bar.dataset.level)}));
const NEAR = 1e-6;

function zoom(to) {
  for (const b of bars) {
    if (b.flame !== to.flame) continue;
    const around = b.left <= to.left + NEAR && b.left + b.width >= to.left + to.width - NEAR && b.level < to.level;
    const inside = b.left >= to.left - NEAR && b.left + b.width <= to.left + to.width + NEAR && b.level >= to.level;
    b.bar.hidden = !around && !inside;
    b.bar.classList.toggle("above", around);
    b.bar.style.left = around ? "0%" : 100 * (b.left - to.left) / to.width + "%";
    b.bar.style.width = around ? "100%" : 100 * b.width / to.width + "%";
  }
}
function reset() {
  for (const b of bars) if (b.level === 0) zoom(b);
}
for (const b of bars) {
  b.bar.addEventListener("click", () => zoom(b));
  b.bar.addEventListener("mouseenter", () => { told.textContent = b.bar.title; });
  b.bar.addEventListener("focus", () => { told.textContent = b.bar.title; });
}
document.getElementById("reset").addEventListener("click", reset);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") reset(); });
document.getElementById("search").addEventListener("input", (event) => {
  const wanted = event.target.value.trim().toLowerCase();
  const hits = bars.filter((b) => wanted && (b.bar.textContent + b.bar.title).toLowerCase().includes(wanted) && b.level > 0);
  for (const b of bars) b.bar.classList.toggle("hit", hits.includes(b));
  const steps = hits.filter((b) => b.flame.id === "order");
  const alone = steps.filter((b) => !steps.some((o) => o.level < b.level && o.left <= b.left + NEAR && o.left + o.width >= b.left + b.width - NEAR));
  found.textContent = wanted ? (100 * alone.reduce((sum, b) => sum + b.width, 0)).toFixed(1) + " % of the call" : "";
});
