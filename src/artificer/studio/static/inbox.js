// Keeps the number of runs that wait for a person up to date, next to the link to the inbox.
"use strict";

{

const EACH_MS = 10000; // how often a page that is seen asks
const SOON_MS = 1000; // the least between two questions

const count = () => document.getElementById("inbox-count");

let asked = performance.now();
let timer = 0;
let last = 0; // the number of the last question: an older answer may come after its own

const show = (text) => {
  const fresh = new DOMParser().parseFromString(text, "text/html").getElementById("inbox-count");
  if (!fresh) return;
  const [before, now] = [Number(count().dataset.runs), Number(fresh.dataset.runs)];
  count().replaceWith(fresh);
  if (now !== before) document.getElementById("inbox-notice").textContent = now > before ? `Inbox: ${fresh.textContent.trim()}.` : "";
};

const ask = async () => {
  asked = performance.now();
  last += 1;
  const mine = last;
  try {
    const answer = await fetch("/inbox/count");
    const text = answer.ok ? await answer.text() : "";
    if (mine === last) show(text);
  } catch {
    // the studio is away: the next question may find it
  }
  plan(EACH_MS);
};

const plan = (ms) => {
  clearTimeout(timer);
  timer = document.hidden ? 0 : setTimeout(ask, ms); // a page that nobody sees asks nothing
};

const soon = () => plan(Math.max(0, asked + SOON_MS - performance.now()));

if (count()) {
  plan(EACH_MS);
  document.addEventListener("visibilitychange", soon);
  document.addEventListener("run-idle", soon);
  addEventListener("pageshow", (event) => { if (event.persisted) soon(); });
}
}
