// What of a run's reply is being written, and what keeps it from being written.

import { visible } from "./visible.js";

const CITED = /\{\{artifact:([\w-]{1,40}):([^{}\s]{1,120})\}\}/g;

export const byId = (id) => document.getElementById(id);

const make = (name, text, kind) => {
  const made = document.createElement(name);
  if (text) made.textContent = visible(text);
  if (kind) made.className = kind;
  return made;
};

// ---- what is being written -------------------------------------------------------------------

// Text and calls that are over stay until the page shows what was recorded of them.
export const forming = { text: "", over: 0, planned: false, calls: new Map() };

const showText = () => {
  forming.planned = false;
  const place = byId("forming");
  if (!place) return;
  const parts = [];
  let at = 0;
  for (const found of forming.text.matchAll(CITED)) {
    parts.push(document.createTextNode(visible(forming.text.slice(at, found.index))));
    parts.push(make("span", `${found[1]} ${found[2]}`, "cited"));
    at = found.index + found[0].length;
  }
  parts.push(document.createTextNode(visible(forming.text.slice(at))));
  place.replaceChildren(...parts);
};

export const plan = () => {
  if (forming.planned) return;
  forming.planned = true;
  requestAnimationFrame(showText);
};

const member = (text, name) => {
  const found = text.slice(0, 4000).match(new RegExp(`"${name}"\\s*:\\s*("(?:[^"\\\\]|\\\\.){1,120}")`));
  try {
    return found ? JSON.parse(found[1]) : "";
  } catch {
    return "";
  }
};

const showCall = (call) => {
  if (!call.card) {
    call.card = make("li", "", call.isArtifact ? "skeleton" : "");
    call.card.dataset.seq = call.seq;
    byId(call.isArtifact ? "making" : "calling").append(call.card);
  }
  const id = member(call.text, "id");
  const word = call.isArtifact ? call.tool.slice(7).replaceAll("_", " ") : call.tool;
  call.card.dataset.artifact = id;
  call.card.replaceChildren(make("strong", word), document.createTextNode(" "));
  if (call.isArtifact && id) call.card.append(make("code", id), document.createTextNode(" "));
  const title = call.isArtifact ? member(call.text, "title") : "";
  if (title) call.card.append(make("span", title), document.createTextNode(" "));
  call.card.append(make("span", call.state || `writing, ${call.text.length.toLocaleString("en")} ${call.text.length === 1 ? "character" : "characters"}`, "facts"));
};

export const showArguments = (event) => {
  const key = `${event.seq} ${event.index}`;
  const call = forming.calls.get(key) || { tool: "", text: "", state: "", seq: event.seq };
  call.tool = event.tool || call.tool;
  call.isArtifact = call.tool.startsWith("create_");
  call.text += event.text;
  forming.calls.set(key, call);
  showCall(call);
};

export const judged = (event) => {
  const call = [...forming.calls.values()].find((one) => one.tool === event.tool && !one.state);
  if (!call) return;
  call.state = event.verdict === "allow" ? "allowed, and being made" : event.verdict === "ask" ? "waits for approval" : "refused";
  if (!call.isArtifact) call.card.remove(); // the course shows it now
  else showCall(call);
};

export const finishText = () => {
  forming.text = "";
  forming.over = 0;
  plan();
  const thinking = byId("thinking");
  thinking.hidden = true;
  thinking.querySelector("p").textContent = "";
};

export const finishCalls = () => {
  forming.calls.clear();
  byId("making").replaceChildren();
  byId("calling").replaceChildren();
};

export const made = (artifact) => {
  for (const card of byId("making").children) {
    if (card.dataset.artifact === artifact) card.dataset.made = "yes";
  }
};

export const finishMade = () => {
  for (const card of [...byId("making").children]) if (card.dataset.made) card.remove();
};

// What the page shows up to a record has formed: artifacts go with the report that has them.
export const settle = (seq) => {
  if (forming.over && forming.over <= seq) finishText();
  for (const card of [...byId("calling").children]) if (Number(card.dataset.seq) < seq) card.remove();
};

// ---- a request that is sent again ------------------------------------------------------------

const delay = { timer: 0 };

export const finishDelay = () => {
  clearInterval(delay.timer);
  if (byId("delayed")) byId("delayed").hidden = true;
};

const countDown = () => {
  const seconds = Math.ceil((Number(byId("delayed").dataset.until) - Date.now()) / 1000);
  if (seconds <= 0) finishDelay();
  else byId("delayed").querySelector(".left").textContent = `, in ${seconds} s`;
};

export const beginDelay = () => {
  clearInterval(delay.timer);
  delay.timer = setInterval(countDown, 1000);
  countDown();
};

export const delayed = (event) => {
  const place = byId("delayed");
  if (!place) return;
  const why = event.limit ? `the limit ${event.limit} leaves no room`
    : JSON.parse(place.dataset.why)[event.code] || "there is no reply";
  const next = event.limit ? "The request waits until " : "The model is asked again at ";
  const at = new Date(event.until);
  const time = make("time", `${at.toISOString().slice(11, 19)} UTC`);
  time.dateTime = at.toISOString();
  place.dataset.until = event.until;
  place.replaceChildren(`${why[0].toUpperCase()}${why.slice(1)}. ${next}`, time, make("span", "", "left"),
    event.limit ? " at the longest." : ` (attempt ${event.attempt} of ${event.attempts}).`);
  place.hidden = false;
  byId("notice").textContent = `${why[0].toUpperCase()}${why.slice(1)}.`;
  beginDelay();
};
