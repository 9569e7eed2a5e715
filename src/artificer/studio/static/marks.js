// Shows the value of a chart's mark under the pointer, or of the next one with the arrow keys.
"use strict";

const NEAR = 18; // pixels

const centre = (mark) => {
  const box = mark.getBoundingClientRect();
  return [box.left + box.width / 2, box.top + box.height / 2];
};

for (const chart of document.querySelectorAll("[data-marks]")) {
  const texts = new Map();
  for (const title of chart.querySelectorAll("path > title")) {
    texts.set(title.parentNode, title.textContent);
    title.remove(); // the browser's own hint would cover ours
  }
  const all = [...texts.keys()];
  let marks = all; // those of the drawing that this width shows
  const tip = chart.querySelector(".tip");
  let current = -1;

  const look = () => {
    const seen = all.filter((mark) => mark.getClientRects().length);
    if (seen.length !== marks.length || seen[0] !== marks[0]) {
      show(-1);
      marks = seen;
    }
  };

  const show = (index) => {
    if (index === current) return;
    marks[current]?.classList.remove("pointed");
    current = index;
    tip.hidden = index < 0;
    if (index < 0) return;
    marks[index].classList.add("pointed");
    tip.textContent = texts.get(marks[index]);
    const box = chart.getBoundingClientRect();
    const [x, y] = centre(marks[index]);
    const left = Math.min(Math.max(x - box.left, tip.offsetWidth / 2), box.width - tip.offsetWidth / 2);
    tip.style.left = `${left}px`;
    tip.style.top = `${y - box.top}px`;
  };

  const under = (event) => {
    look();
    const hit = marks.indexOf(event.target);
    if (hit >= 0) return hit;
    let [best, nearest] = [-1, NEAR];
    marks.forEach((mark, index) => {
      const [x, y] = centre(mark);
      const distance = Math.hypot(event.clientX - x, event.clientY - y);
      if (distance < nearest) [best, nearest] = [index, distance];
    });
    return best;
  };

  chart.addEventListener("pointermove", (event) => {
    if (!tip.contains(event.target)) show(under(event));
  });
  chart.addEventListener("pointerdown", (event) => show(under(event)));
  chart.addEventListener("pointerleave", (event) => {
    if (event.pointerType === "mouse") show(-1);
  });
  chart.addEventListener("blur", () => show(-1));
  chart.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") show(-1);
    else if (step && all.length) {
      event.preventDefault();
      look();
      show((current + step + marks.length) % marks.length);
    }
  });
}
