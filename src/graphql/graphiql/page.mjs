// The page itself. It sends what it is told to, and by itself asks for nothing but the page's settings, without
// a key: there the demo ledger says which key it opens with. The key is kept in this field alone.
import { createDocs } from "./docs.mjs";
import { coloured, createEditor, element } from "./editor.mjs";
import { EXAMPLES, NO_COIN } from "./examples.mjs";
import { INTROSPECTION, schemaOf } from "./schema.mjs";
import { parsed, send } from "./send.mjs";
import { operationAt, prettified } from "./text.mjs";

const by = (id) => document.getElementById(id);
const { endpoint } = document.body.dataset;
const [key, note, state, response, variables] = [
  "key",
  "key-note",
  "state",
  "response",
  "variables",
].map(by);

/** Events of a subscription that stay on the page. */
const MOST_EVENTS = 200;

let schema;
let coin = NO_COIN;
let running;

const editor = createEditor({
  field: by("query"),
  colours: by("colours"),
  list: by("words"),
  schema: () => schema,
});
const docs = createDocs({ shown: by("doc"), search: by("search"), schema: () => schema });

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

/** Coin types in an answer fill in the examples. */
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

/** Asks for something that the page needs, because of what the user did. */
const ask = async (query) => {
  let answer;
  await send({
    endpoint,
    body: { query },
    headers: headersNow(),
    heard: (value) => {
      answer = value;
    },
  });
  if (!answer?.data) throw new Error(answer?.errors?.[0]?.message ?? String(answer));
  return answer.data;
};

const run = async () => {
  if (running !== undefined) return running.abort();
  const operation = operationAt(editor.text, editor.place);
  if (operation === undefined) return say("There is no query.", true);
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
  const heard = (value) => {
    noteCoin(value);
    if (!isSubscription) return response.replaceChildren(shownResult(value));
    events += 1;
    const at = new Date();
    const time = element("time", { datetime: at.toISOString() }, at.toLocaleTimeString());
    response.prepend(element("article", {}, time, shownResult(value)));
    if (response.childElementCount > MOST_EVENTS) response.lastElementChild.remove();
    say(`${events} events, newest first`, value?.errors !== undefined);
    return undefined;
  };
  try {
    const { status, headers } = await send({
      endpoint,
      body: {
        query: editor.text,
        variables: given,
        ...(!operation.isOnly && operation.name && { operationName: operation.name }),
      },
      headers: headersNow(),
      isSubscription,
      signal: control.signal,
      opened: () => say("Waiting for events…"),
      heard,
    });
    const took = `${Math.round(performance.now() - began)} ms`;
    const id = headers.get("x-request-id");
    if (events > 0) say(`${events} events, over`);
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
  if (schema !== undefined) return true;
  docs.say("Loading…");
  try {
    schema = schemaOf(await ask(INTROSPECTION));
    docs.showAll();
    return true;
  } catch (error) {
    docs.say(`The schema cannot be read: ${error.message}`);
    return false;
  }
};

const toggleDocs = async () => {
  const aside = by("docs");
  aside.hidden = !aside.hidden;
  by("docs-toggle").setAttribute("aria-expanded", String(!aside.hidden));
  if (!aside.hidden && (await loadSchema())) by("search").focus();
};

const show = async ({ query, needsCoin }) => {
  editor.text = query;
  variables.value = "{}";
  if (!needsCoin) return;
  if (coin === NO_COIN && key.value !== "") {
    // Of whatever there is; without any the place for it says what goes there.
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

const tabs = ["variables", "headers"];
const select = (name) => {
  for (const one of tabs) {
    by(`${one}-panel`).hidden = one !== name;
    by(`${one}-tab`).setAttribute("aria-selected", String(one === name));
    by(`${one}-tab`).tabIndex = one === name ? 0 : -1;
  }
};
for (const [at, name] of tabs.entries()) {
  by(`${name}-tab`).addEventListener("click", () => select(name));
  by(`${name}-tab`).addEventListener("keydown", ({ key: pressed }) => {
    if (pressed !== "ArrowLeft" && pressed !== "ArrowRight") return;
    const other = tabs[1 - at];
    select(other);
    by(`${other}-tab`).focus();
  });
}

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

/** The demo's page keeps the read key that it was lent; no other key is kept. */
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
  note.textContent =
    "This is the demo ledger: its key is filled in, and all of it is made up. Press Run.";
}
