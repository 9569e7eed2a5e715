// Ticks without loading the page again, and shows what others tick.
"use strict";

const place = () => document.getElementById("checklists");

const speak = (words) => {
  const live = document.getElementById("ticks-said");
  if (live) live.textContent = words;
};

const renew = async () => {
  const run = place()?.dataset.run;
  if (!run) return;
  const answer = await fetch(`/runs/${run}/checklists`);
  if (!answer.ok) return;
  const key = document.activeElement?.dataset.item;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  place().replaceWith(made.content);
  if (key) place().querySelector(`[data-item="${CSS.escape(key)}"]`)?.focus();
};

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches(".tick")) return;
  event.preventDefault();
  const box = form.querySelector("button");
  const body = new URLSearchParams(new FormData(form));
  box.setAttribute("aria-checked", body.get("checked") === "yes" ? "true" : "false");
  const answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  await renew();
  if (answer.type === "opaqueredirect") speak("");
  else if (answer.status === 409) speak("Somebody has changed this meanwhile. This is how it stands now.");
  else if (answer.status === 202) speak("The tick is kept, and recorded when the run goes on.");
  else speak("The tick was not recorded. Load the page again.");
});

let following = null;

const follow = () => {
  const found = place();
  const over = document.querySelector(".run-head")?.dataset.over === "yes";
  if (following || !found || found.hidden || !over) return;
  following = new EventSource(`/runs/${found.dataset.run}/checklists/changes`);
  following.addEventListener("changed", renew);
};

document.addEventListener("run-over", follow);
follow();
