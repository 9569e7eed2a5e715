// Ticks without loading the page again, and shows what others tick.

import { released } from "./released.js";

const place = () => document.getElementById("checklists");

const speak = (words) => {
  const live = document.getElementById("ticks-notice");
  if (live) live.textContent = words;
};

const seqOf = (section) => Number(section.dataset.seq);

const load = async () => {
  const answer = await fetch(`/runs/${place().dataset.run}/checklists`);
  if (!answer.ok) return;
  const made = document.createElement("template");
  made.innerHTML = await answer.text();
  await released(place());
  if (seqOf(made.content.firstElementChild) < seqOf(place())) return; // the run's page was faster
  const key = document.activeElement?.dataset.item; // now: it may have changed meanwhile
  place().replaceWith(made.content);
  if (key) place().querySelector(`[data-item="${CSS.escape(key)}"]`)?.focus();
};

let loading = null;
let again = false;

// One at a time: of two that overlap, the older answer could come last.
const renew = () => {
  again = true;
  loading ??= (async () => {
    try {
      while (again) {
        again = false;
        await load();
      }
    } catch {
      again = true; // the studio is away: once more when the stream comes again
    } finally {
      loading = null;
    }
  })();
  return loading;
};

document.addEventListener("submit", async (event) => {
  const form = event.target;
  if (!form.matches(".tick")) return;
  event.preventDefault();
  const box = form.querySelector("button");
  const body = new URLSearchParams(new FormData(form));
  box.setAttribute("aria-checked", body.get("checked") === "yes" ? "true" : "false");
  let answer = null;
  try {
    answer = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  } catch {
    box.setAttribute("aria-checked", body.get("checked") === "yes" ? "false" : "true");
  }
  if (answer) await renew();
  if (answer?.type === "opaqueredirect") speak("");
  else if (answer?.status === 409) speak("Somebody has changed this meanwhile. This is how it stands now.");
  else if (answer?.status === 202) speak("The tick is stored, and will be recorded when the run continues.");
  else speak("The tick was not recorded. Load the page again.");
});

let following = null;

const follow = () => {
  const found = place();
  const over = document.querySelector(".run-head")?.dataset.over === "yes";
  if (following || !found || found.hidden || !over) return;
  following = new EventSource(`/runs/${found.dataset.run}/checklists/changes?after=${found.dataset.seq}`);
  following.addEventListener("changed", renew);
  following.addEventListener("open", () => { if (again) renew(); });
};

document.addEventListener("run-over", follow);
follow();
