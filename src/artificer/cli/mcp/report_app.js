// Shows the report of a tool's result in a host of MCP Apps (SEP-1865, 2026-01-26).
const waiting = new Map();
let last = 0;

function send(message) {
  parent.postMessage({ jsonrpc: "2.0", ...message }, "*");
}

function request(method, params) {
  const id = ++last;
  send({ id, method, params });
  return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }));
}

function settle(message) {
  const promise = waiting.get(message.id);
  waiting.delete(message.id);
  if (message.error) promise.reject(new Error(message.error.message));
  else promise.resolve(message.result);
}

async function show(result) {
  const uri = result?._meta?.["artificer/report"];
  if (typeof uri !== "string") return;
  const found = await request("resources/read", { uri });
  const page = new DOMParser().parseFromString(found.contents[0].text, "text/html");
  document.title = page.title;
  document.documentElement.lang = page.documentElement.lang;
  document.documentElement.dir = page.documentElement.dir;
  document.head.append(...page.head.querySelectorAll("style"));
  document.body.replaceWith(page.body);
  const { scrollWidth: width, scrollHeight: height } = document.documentElement;
  send({ method: "ui/notifications/size-changed", params: { width, height } });
}

addEventListener("message", (event) => {
  const message = event.data;
  if (event.source !== parent || message?.jsonrpc !== "2.0") return;
  if (message.method === "ui/notifications/tool-result") {
    show(message.params).catch((error) => {
      document.body.textContent = `The report cannot be shown: ${error.message}`;
    });
  } else if (message.method === undefined && waiting.has(message.id)) settle(message);
  else if (message.method !== undefined && message.id !== undefined) {
    send({ id: message.id, result: {} }); // a ping, or the end of this view
  }
});

request("ui/initialize", {
  protocolVersion: "2026-01-26",
  appInfo: { name: "artificer", version: "1" },
  appCapabilities: { availableDisplayModes: ["inline", "fullscreen"] },
}).then(() => send({ method: "ui/notifications/initialized", params: {} }));
