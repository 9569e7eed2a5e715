// Steps through records with the arrow keys, Home and End.
"use strict";

const STEPS = { ArrowLeft: "prev", ArrowRight: "next", Home: "first", End: "last" };

document.addEventListener("keydown", (event) => {
  const rel = STEPS[event.key];
  if (!rel || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target.closest("textarea, input, select, pre, [role=region]")) return;
  const link = document.querySelector(`a[rel=${rel}]`);
  if (link) {
    event.preventDefault();
    link.click();
  }
});
