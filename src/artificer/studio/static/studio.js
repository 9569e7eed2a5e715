// Follows a run: text and artifacts as they form, and each part of the page again after a record.
"use strict";

const FRAMES = 300; // how long a page waits for somebody who holds a button down

// Waits until nothing in an element is pressed: an element that is replaced meanwhile loses the click.
const released = async (element) => {
  for (let frame = 0; frame < FRAMES && element.querySelector(":active"); frame += 1) {
    await new Promise(requestAnimationFrame);
  }
};

{

const root = document.getElementById("run");

const RECORDS = ["run_started", "turn_started", "model_replied", "model_failed", "model_changed", "call_judged",
  "approval_requested", "approval_received", "call_started", "call_suspended", "call_resumed", "call_finished", "artifact_created", "reply_sent_back",
  "build_progressed", "item_ticked", "run_ended"];

const AGAIN_MS = 3000; // how often a run that is idle is looked at: somebody may resume it

const CITED = /\{\{artifact:([\w-]{1,40}):([^{}\s]{1,120})\}\}/g;

const byId = (id) => document.getElementById(id);

const make = (name, text, kind) => {
  const made = document.createElement(name);
  if (text) made.textContent = text;
  if (kind) made.className = kind;
  return made;
};

// ---- what is being written -------------------------------------------------------------------

const forming = { text: "", planned: false, calls: new Map() };

const showText = () => {
  forming.planned = false;
  const place = byId("forming");
  if (!place) return;
  const parts = [];
  let at = 0;
  for (const found of forming.text.matchAll(CITED)) {
    parts.push(document.createTextNode(forming.text.slice(at, found.index)));
    parts.push(make("span", `${found[1]} ${found[2]}`, "cited"));
    at = found.index + found[0].length;
  }
  parts.push(document.createTextNode(forming.text.slice(at)));
  place.replaceChildren(...parts);
};

const plan = () => {
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

const showArguments = (event) => {
  const key = `${event.seq} ${event.index}`;
  const call = forming.calls.get(key) || { tool: "", text: "", state: "" };
  call.tool = event.tool || call.tool;
  call.isArtifact = call.tool.startsWith("create_");
  call.text += event.text;
  forming.calls.set(key, call);
  showCall(call);
};

const judged = (event) => {
  const call = [...forming.calls.values()].find((one) => one.tool === event.tool && !one.state);
  if (!call) return;
  call.state = event.verdict === "allow" ? "allowed, and being made" : event.verdict === "ask" ? "waits for approval" : "refused";
  if (!call.isArtifact) call.card.remove(); // the course shows it now
  else showCall(call);
};

const finishText = () => {
  forming.text = "";
  plan();
  const thinking = byId("thinking");
  thinking.hidden = true;
  thinking.querySelector("p").textContent = "";
};

const finishCalls = () => {
  forming.calls.clear();
  byId("making").replaceChildren();
  byId("calling").replaceChildren();
};

const made = (artifact) => {
  for (const card of byId("making").children) {
    if (card.dataset.artifact === artifact) card.dataset.made = "yes";
  }
};

const finishMade = () => {
  for (const card of [...byId("making").children]) if (card.dataset.made) card.remove();
};

// ---- the parts of the page -------------------------------------------------------------------

const known = new Map();

const isEdited = (part) => [...part.querySelectorAll("textarea, input")].some((field) =>
  field.type === "file" ? field.files.length : field.value !== field.defaultValue);

const keyOf = (element) => {
  if (element.id) return `#${CSS.escape(element.id)}`;
  if (element.dataset.item) return `[data-item="${CSS.escape(element.dataset.item)}"]`;
  const call = element.closest("[data-call]");
  if (call) return `[data-call="${CSS.escape(call.dataset.call)}"] summary`;
  const form = element.closest("form");
  return form ? `form[action="${CSS.escape(form.getAttribute("action"))}"] ${element.localName}` : "";
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
  if (focused) fresh.querySelector(focused)?.focus({ preventScroll: true });
};

const swap = (text) => {
  const page = new DOMParser().parseFromString(text, "text/html");
  for (const fresh of page.querySelectorAll("[data-part]")) {
    const name = fresh.dataset.part;
    const old = root.querySelector(`[data-part="${name}"]`);
    const html = fresh.outerHTML;
    if (!old || known.get(name) === html || isEdited(old)) continue;
    known.set(name, html);
    if (name === "frame") swapFrame(old, fresh);
    else swapPart(old, fresh);
  }
};

// ---- following -------------------------------------------------------------------------------

const follow = () => {
  let source = null;
  let busy = false;
  let again = false;
  let latest = Number(root.dataset.seq); // the last record that was heard of
  const head = () => root.querySelector(".run-head");
  const status = () => head().querySelector(".badge").textContent;

  const refresh = async (event) => {
    latest = Math.max(latest, Number(event?.lastEventId) || 0);
    if (busy) {
      again = true;
      return;
    }
    busy = true;
    try {
      const answer = await fetch(`/runs/${root.dataset.run}/body?seq=${latest}`);
      if (answer.ok) {
        const text = await answer.text();
        await released(root);
        const before = status();
        swap(text);
        if (status() !== before) byId("said").textContent = `The run is now: ${status()}.`;
      }
    } catch {
      again = false; // the studio is away: the stream comes again when it is back
    } finally {
      busy = false;
    }
    if (again) {
      again = false;
      await refresh();
    }
  };

  const rested = async () => {
    source.close();
    finishText();
    finishCalls();
    await refresh();
    if (head().dataset.over === "yes") document.dispatchEvent(new Event("run-over"));
    else setTimeout(() => listen(head().dataset.seq), AGAIN_MS);
  };

  const listen = (after) => {
    source = new EventSource(`/runs/${root.dataset.run}/events?after=${after}`);
    const on = (kind, work) => source.addEventListener(kind, (event) => work(JSON.parse(event.data)));
    source.addEventListener("open", () => { finishText(); finishCalls(); }); // the stream says again what has formed
    on("text", (event) => { forming.text += event.text; plan(); });
    on("events_missed", () => { forming.text += " … "; plan(); });
    on("reasoning", (event) => {
      byId("thinking").hidden = false;
      byId("thinking").querySelector("p").append(event.text);
    });
    on("arguments", showArguments);
    on("call_progressed", (event) => {
      const call = root.querySelector(`[data-call="${CSS.escape(event.call_id)}"] .progress`);
      if (call) call.textContent = event.total ? `${event.message} ${event.done} of ${event.total}` : event.message;
    });
    on("model_replied", finishText);
    on("model_failed", () => { finishText(); finishCalls(); });
    on("model_changed", () => { finishText(); finishCalls(); });
    on("turn_started", () => { finishText(); finishCalls(); });
    on("call_judged", judged);
    on("artifact_created", (event) => made(event.artifact.id));
    for (const kind of RECORDS) source.addEventListener(kind, kind === "run_ended" ? rested : refresh);
  };

  for (const part of root.querySelectorAll("[data-part]")) known.set(part.dataset.part, part.outerHTML);
  listen(root.dataset.seq);
};

if (root && root.dataset.over === "no") follow();
}
