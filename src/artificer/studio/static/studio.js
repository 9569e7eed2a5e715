// Follows a run: text and artifacts as they form, and each part of the page again after a record.

import {
  beginDelay, byId, delayed, finishCalls, finishDelay, finishMade, finishText, forming, judged, made, plan, settle, showArguments,
} from "./forming.js";
import { released } from "./released.js";
import { visible } from "./visible.js";

const root = document.getElementById("run");

const RECORDS = ["run_started", "turn_started", "model_replied", "model_failed", "model_changed", "call_judged",
  "approval_requested", "approval_received", "call_started", "call_suspended", "call_resumed", "call_finished", "artifact_created", "reply_sent_back",
  "build_progressed", "item_ticked", "run_ended"];

const AGAIN_MS = 3000; // how often a run that is idle is looked at: somebody may resume it
const UNREAD_MS = 700; // a question that has just moved takes no answer: it was another one's
const UNSEEN_MS = 15000; // how often a page that nobody sees is brought up to date

// ---- the parts of the page -------------------------------------------------------------------

const known = new Map();

const isEdited = (part) => [...part.querySelectorAll("textarea, input")].some((field) =>
  field.type === "file" ? field.files.length : field.value !== field.defaultValue);

// What an element is after its part was made again: a button of one question is none of another.
const keyOf = (element) => {
  if (element.id) return `id ${element.id}`;
  if (element.dataset.item) return `item ${element.dataset.item}`;
  const call = element.closest("[data-call]");
  if (call) return `call ${call.dataset.call}`;
  const form = element.closest("form");
  if (!form) return "";
  const subject = form.querySelector("[name=subject]")?.value;
  return JSON.stringify([form.getAttribute("action"), subject, element.name, element.localName === "button" && element.value]);
};

const swapFrame = (old, fresh) => {
  old.className = fresh.className;
  const next = fresh.querySelector("iframe");
  const now = [...old.querySelectorAll("iframe")].pop();
  if (!next || (now && now.getAttribute("src") === next.getAttribute("src"))) return finishMade();
  if (now) next.classList.add("coming");
  next.addEventListener("load", () => {
    while (next.previousSibling) next.previousSibling.remove();
    next.classList.remove("coming");
    finishMade();
  }, { once: true });
  if (!now) old.replaceChildren();
  old.append(next);
};

const swapPart = (old, fresh) => {
  const open = new Set([...old.querySelectorAll("details[open]")].map((one) => one.dataset.call || one.firstElementChild.textContent));
  const focused = old.contains(document.activeElement) ? keyOf(document.activeElement) : "";
  old.replaceWith(fresh);
  for (const one of fresh.querySelectorAll("details")) {
    if (open.has(one.dataset.call || one.firstElementChild.textContent)) one.open = true;
  }
  if (!focused) return;
  const able = [...fresh.querySelectorAll("a, button, input, select, summary, textarea, [tabindex]")];
  able.find((one) => keyOf(one) === focused)?.focus({ preventScroll: true });
};

const subjects = (part) => [...part.querySelectorAll("[name=subject]")].map((one) => one.value).join("\n");

let asked = -Infinity; // when other questions came to stand where some had been

document.addEventListener("submit", (event) => {
  if (!event.target.matches("#questions form") || performance.now() - asked > UNREAD_MS) return;
  event.preventDefault();
  byId("notice").textContent = "The questions have just changed. Nothing was sent.";
}, true);

const swap = (text) => {
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const fresh of page.querySelectorAll("[data-part]")) {
    const name = fresh.dataset.part;
    const old = root.querySelector(`[data-part="${name}"]`);
    const html = fresh.outerHTML;
    if (name === "frame" && known.get(name) === html) finishMade(); // what was made is in it
    if (!old || known.get(name) === html || isEdited(old)) continue;
    known.set(name, html);
    if (name === "questions" && subjects(old) && subjects(old) !== subjects(fresh)) asked = performance.now();
    if (name === "frame") swapFrame(old, fresh);
    else swapPart(old, fresh);
  }
};

// ---- following -------------------------------------------------------------------------------

const follow = () => {
  let source = null;
  let timer = 0; // of the next fetch, if one is due
  let fetching = Promise.resolve();
  let spacing = Number(root.dataset.spacing);
  let fetched = performance.now(); // the page came with a body
  let latest = Number(root.dataset.seq); // the last record that this page knows
  const head = () => root.querySelector(".run-head");
  const status = () => head().querySelector(".badge").textContent;
  const shown = () => Number(head().dataset.seq);

  const fetchBody = async () => {
    fetched = performance.now();
    try {
      const answer = await fetch(`/runs/${root.dataset.run}/body?seq=${latest}`);
      if (answer.ok) {
        spacing = Number(answer.headers.get("Body-Spacing")) || spacing;
        const text = await answer.text();
        await released(root);
        const before = status();
        swap(text);
        settle(shown());
        if (status() !== before) byId("notice").textContent = `The run is now: ${status()}.`;
      } else if (answer.status < 500 && answer.status !== 429) latest = shown(); // it is refused: do not ask again
    } catch {
      // the studio is away: it is asked again
    }
  };

  const refresh = async () => {
    clearTimeout(timer);
    timer = 0;
    fetching = fetching.then(fetchBody); // one after the other: an older body never comes last
    await fetching;
    if (!timer && shown() < latest) timer = setTimeout(refresh, Math.max(AGAIN_MS, spacing)); // it did not come
  };

  // The more pages watch, the more rarely each is brought up to date, and not all at once.
  const wait = () => {
    const least = document.hidden ? Math.max(spacing, UNSEEN_MS) : spacing;
    return Math.max(0, fetched + least - performance.now()) + Math.random() * (spacing - 300);
  };

  const refreshSoon = (event) => {
    latest = Math.max(latest, Number(event.lastEventId) || 0);
    if (!timer) timer = setTimeout(refresh, wait());
  };

  const rested = async (event) => {
    latest = Math.max(latest, Number(event.lastEventId) || 0);
    source.close();
    finishDelay();
    await refresh();
    finishText();
    finishCalls();
    document.dispatchEvent(new Event("run-idle"));
    if (head().dataset.over === "yes") document.dispatchEvent(new Event("run-over"));
    else setTimeout(() => listen(head().dataset.seq), Math.max(AGAIN_MS, document.hidden ? UNSEEN_MS : spacing));
  };

  const listen = (after) => {
    source = new EventSource(`/runs/${root.dataset.run}/events?after=${after}`);
    const on = (kind, work) => source.addEventListener(kind, (event) => work(JSON.parse(event.data)));
    const again = () => { finishText(); finishCalls(); };
    const forms = () => { finishDelay(); if (forming.over) finishText(); };
    source.addEventListener("open", again); // the stream says again what has formed
    on("text", (event) => { forms(); forming.text += event.text; plan(); });
    on("events_missed", () => { forming.text += " … "; plan(); });
    on("reasoning", (event) => {
      forms();
      byId("thinking").hidden = false;
      byId("thinking").querySelector("p").append(visible(event.text));
    });
    on("arguments", (event) => { finishDelay(); showArguments(event); });
    on("call_progressed", (event) => {
      const call = root.querySelector(`[data-call="${CSS.escape(event.call_id)}"] .progress`);
      if (call) call.textContent = visible(event.message) + (event.total ? ` ${event.done} of ${event.total}` : "");
    });
    on("model_delayed", (event) => { again(); delayed(event); });
    on("model_replied", (event) => { finishDelay(); forming.over = event.seq; });
    for (const kind of ["model_failed", "model_changed"]) on(kind, () => { finishDelay(); again(); });
    on("turn_started", () => {
      forming.calls.clear();
      for (const card of byId("making").children) card.dataset.made = "yes";
    });
    on("call_judged", judged);
    on("artifact_created", (event) => made(event.artifact.id));
    for (const kind of RECORDS) source.addEventListener(kind, kind === "run_ended" ? rested : refreshSoon);
  };

  for (const part of root.querySelectorAll("[data-part]")) known.set(part.dataset.part, part.outerHTML);
  document.addEventListener("visibilitychange", () => {
    if (!timer || document.hidden) return;
    clearTimeout(timer);
    timer = setTimeout(refresh, wait());
  });
  if (byId("delayed").dataset.until) beginDelay();
  listen(root.dataset.seq);
};

if (root && root.dataset.over === "no") follow();
