// The page. It sends nothing before the user asks for it. The key stays in its field and is stored nowhere.
import { showDocs } from "./docs.mjs";
import { coloured, createEditor, element } from "./editor.mjs";
import { EXAMPLES, NO_COIN } from "./examples.mjs";
import { INTROSPECTION, operationAt, prettified, schemaOf } from "./language.mjs";

const by = (id) => document.getElementById(id);
const { endpoint } = document.body.dataset;
const [key, state, response, variables] = ["key", "state", "response", "variables"].map(by);

/** Events of a subscription that stay on the page. */
const MAX_EVENTS = 200;

let schema;
let coin = NO_COIN;
let running;

const editor = createEditor({
  field: by("query"),
  colours: by("colours"),
  list: by("words"),
  schema: () => schema,
});

const say = (text, isBad = false) => {
  state.textContent = text;
  state.classList.toggle("bad", isBad);
};

const headersNow = () => {
  const more = parsed(by("headers").value.trim() || "{}");
  if (typeof more !== "object" || more === null) throw new Error("Headers are not a JSON object.");
  const own = key.value.trim() === "" ? {} : { "X-API-Key": key.value.trim() };
  return { ...own, ...more };
};

/** The first coin type in an answer fills in the examples. */
const noteCoin = (value) => {
  if (coin !== NO_COIN || typeof value !== "object" || value === null) return;
  if (typeof value.coinType === "string") coin = value.coinType;
  for (const inner of Object.values(value)) noteCoin(inner);
};

const shownResult = (value) =>
  element(
    "pre",
    {},
    ...coloured(typeof value === "string" ? value : JSON.stringify(value, null, 2)),
  );

const JSON_TYPES = "application/graphql-response+json, application/json;q=0.9";

const parsed = (text) => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/**
 * Sends a query. `onResult` is called with its answer or with each event, `onOpen` when events will come.
 * @returns status and header fields, when the answer is complete
 */
const send = async ({ body, isSubscription, signal, onOpen, onResult }) => {
  const sent = await fetch(endpoint, {
    method: "POST",
    headers: {
      ...headersNow(),
      "content-type": "application/json",
      accept: isSubscription ? "text/event-stream" : JSON_TYPES,
    },
    body: JSON.stringify(body),
    signal,
    credentials: "omit",
  });
  if (!sent.headers.get("content-type")?.startsWith("text/event-stream")) {
    const text = await sent.text();
    onResult(parsed(text) ?? text);
    return sent;
  }
  onOpen();
  let unread = "";
  const reader = sent.body.pipeThrough(new TextDecoderStream()).getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const events = `${unread}${read.value}`.split("\n\n");
    unread = events.pop();
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) onResult(parsed(data) ?? data);
    }
  }
  return sent;
};

/** Asks for something that the page needs for what the user does. */
const ask = async (query) => {
  let answer;
  await send({
    body: { query },
    onResult: (value) => {
      answer = value;
    },
  });
  if (!answer?.data) throw new Error(answer?.errors?.[0]?.message ?? String(answer));
  return answer.data;
};

const run = async () => {
  if (running !== undefined) return running.abort();
  const operation = operationAt(editor.text, editor.place);
  if (operation === undefined) return say("The query is empty.", true);
  const given = parsed(variables.value.trim() || "{}");
  if (given === undefined) return say("Variables are not JSON.", true);
  const isSubscription = operation.kind === "subscription";
  const control = new AbortController();
  running = control;
  by("run").textContent = "Stop";
  response.replaceChildren();
  const began = performance.now();
  let events = 0;
  say("Waiting for the answer…");
  const onResult = (value) => {
    noteCoin(value);
    if (!isSubscription) return response.replaceChildren(shownResult(value));
    events += 1;
    const at = new Date();
    const time = element("time", { datetime: at.toISOString() }, at.toLocaleTimeString());
    response.prepend(element("article", {}, time, shownResult(value)));
    if (response.childElementCount > MAX_EVENTS) response.lastElementChild.remove();
    say(`${events} events, newest first`, value?.errors !== undefined);
    return undefined;
  };
  try {
    const { status, headers } = await send({
      body: {
        query: editor.text,
        variables: given,
        ...(!operation.isOnly && operation.name && { operationName: operation.name }),
      },
      isSubscription,
      signal: control.signal,
      onOpen: () => say("Waiting for events…"),
      onResult,
    });
    const took = `${Math.round(performance.now() - began)} ms`;
    const id = headers.get("x-request-id");
    if (events > 0) say(`${events} events, ended`);
    else say(`HTTP ${status} · ${took}${id ? ` · request ${id}` : ""}`, status >= 400);
    if (status === 401) key.focus();
  } catch (error) {
    if (control.signal.aborted) say(events > 0 ? `${events} events, stopped` : "Stopped.");
    else say(error.message, true);
  } finally {
    running = undefined;
    by("run").textContent = "Run";
  }
  return undefined;
};

const loadSchema = async () => {
  if (schema !== undefined) return;
  by("doc").textContent = "Loading…";
  try {
    schema = schemaOf(await ask(INTROSPECTION));
    showDocs({ shown: by("doc"), search: by("search"), schema });
  } catch (error) {
    by("doc").textContent = `The schema cannot be read: ${error.message}`;
  }
};

const toggleDocs = async () => {
  const aside = by("docs");
  aside.hidden = !aside.hidden;
  by("docs-toggle").setAttribute("aria-expanded", String(!aside.hidden));
  if (aside.hidden) return;
  await loadSchema();
  by("search").focus();
};

const show = async ({ query, needsCoin }) => {
  editor.text = query;
  variables.value = "{}";
  if (!needsCoin) return;
  if (coin === NO_COIN && key.value !== "") {
    // Without a token on the ledger the variable stays a placeholder.
    await ask("{ tokens(limit: 1) { coinType } }").then(noteCoin, () => undefined);
  }
  variables.value = JSON.stringify({ coinType: coin }, null, 2);
};

const examples = by("examples");
examples.append(
  ...EXAMPLES.map(({ title }, at) => element("option", { value: String(at) }, title)),
);
examples.addEventListener("change", () => void show(EXAMPLES[Number(examples.value)]));
by("run").addEventListener("click", () => void run());
by("prettify").addEventListener("click", () => editor.replace(prettified(editor.text)));
by("docs-toggle").addEventListener("click", () => void toggleDocs());

document.addEventListener("keydown", (event) => {
  if (!event.ctrlKey && !event.metaKey) return;
  const pressed = event.key.toLowerCase();
  if (pressed === "enter") void run();
  else if (event.shiftKey && pressed === "f") editor.replace(prettified(editor.text));
  else if (event.shiftKey && pressed === "d") void toggleDocs();
  else if (pressed === " " && schema === undefined) void loadSchema().then(() => editor.offer());
  else return;
  event.preventDefault();
});

void show(EXAMPLES[0]);

/** The read key that the demo's page stored; no other key is stored. */
const lentKey = () => {
  try {
    return localStorage.getItem("holderbook.demo-key");
  } catch {
    return null;
  }
};

const lent = lentKey();
if (lent !== null && key.value === "") {
  key.value = lent;
  by("key-note").textContent =
    "This is the demo ledger: its key is filled in, and its data are invented. Press Run.";
}
