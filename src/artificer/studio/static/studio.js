// Follows a run: text as it forms, and the page's body again after each record.
"use strict";

const root = document.getElementById("run");

if (root && root.dataset.over === "no") {
  const source = new EventSource(`/runs/${root.dataset.run}/events?after=${root.dataset.seq}`);
  let waiting = false;
  let again = false;

  const forming = () => document.getElementById("forming");

  const edited = () => [...root.querySelectorAll("textarea, input")].some((field) => field.value !== field.defaultValue);

  const refresh = async () => {
    if (waiting) {
      again = true;
      return;
    }
    waiting = true;
    try {
      const answer = await fetch(`/runs/${root.dataset.run}/body`);
      if (answer.ok && !edited()) {
        const open = new Set([...root.querySelectorAll("details[open]")].map((d, i) => d.dataset.call || i));
        root.innerHTML = await answer.text();
        root.querySelectorAll("details").forEach((d, i) => { d.open = open.has(d.dataset.call || i); });
        if (root.querySelector(".run-head").dataset.over === "yes") {
          source.close();
          document.dispatchEvent(new Event("run-over"));
        }
      }
    } finally {
      waiting = false;
      if (again) {
        again = false;
        refresh();
      }
    }
  };

  source.addEventListener("text", (event) => {
    const place = forming();
    if (place) place.append(JSON.parse(event.data).text);
  });
  for (const kind of ["turn_started", "model_replied", "model_failed", "call_judged", "approval_requested",
    "approval_received", "call_started", "call_finished", "artifact_created", "reply_sent_back",
    "build_progressed", "item_ticked", "run_ended"]) {
    source.addEventListener(kind, refresh);
  }
}
