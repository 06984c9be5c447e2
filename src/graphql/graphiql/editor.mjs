// The editor of the query: a text field over its own colours, with completion.
import { styleOf, suggestions, tokensOf } from "./language.mjs";

/** An element with attributes and children; strings become text nodes. */
export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
};

/** Longer texts are shown without colours. */
const MAX_COLOURED = 200_000;

export const coloured = (text) =>
  text.length > MAX_COLOURED
    ? [text]
    : tokensOf(text).map((token) => {
        const style = styleOf(token);
        return ["space", "mark", "name"].includes(style)
          ? token.word
          : element("span", { class: style }, token.word);
      });

/** Suggestions shown at a time. */
const MAX_SUGGESTIONS = 50;

/**
 * @param field the text field, `colours` the element under it, `list` shows completions
 * @param schema returns the schema, or undefined while it is unknown
 */
export const createEditor = ({ field, colours, list, schema }) => {
  let offered = { begun: "", all: [] };
  let chosen = 0;

  const scroll = () => {
    colours.scrollTop = field.scrollTop;
    colours.scrollLeft = field.scrollLeft;
  };
  const paint = () => {
    // The line break makes an empty last line visible.
    colours.replaceChildren(...coloured(`${field.value}\n`));
    scroll();
  };
  const hide = () => {
    list.hidden = true;
    field.removeAttribute("aria-activedescendant");
  };
  const choose = (index) => {
    const { children } = list;
    chosen = (index + children.length) % children.length;
    for (const [at, item] of [...children].entries()) {
      item.setAttribute("aria-selected", String(at === chosen));
    }
    children[chosen].scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", children[chosen].id);
  };

  /** Types a text, so that it can be undone. */
  const type = (text) => {
    field.focus();
    document.execCommand("insertText", false, text);
  };
  const take = () => {
    const { begun, all } = offered;
    field.setSelectionRange(field.selectionStart - begun.length, field.selectionStart);
    type(all[chosen].insert);
    hide();
  };

  const offer = (isRequested) => {
    if (schema() === undefined || field.selectionStart !== field.selectionEnd) return hide();
    offered = suggestions(schema(), field.value, field.selectionStart);
    if (offered.all.length === 0 || (offered.begun === "" && !isRequested)) return hide();
    const items = offered.all
      .slice(0, MAX_SUGGESTIONS)
      .map(({ name, type: of, description }, at) => {
        const attributes = { role: "option", id: `word-${at}`, title: description };
        const item = element("div", attributes, name, element("small", {}, of));
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          chosen = at;
          take();
        });
        return item;
      });
    list.replaceChildren(...items);
    list.hidden = false;
    return choose(0);
  };

  const breakLine = () => {
    const line = /[^\n]*$/.exec(field.value.slice(0, field.selectionStart))[0];
    type(`\n${/^ */.exec(line)[0]}${/[{([]\s*$/.test(line) ? "  " : ""}`);
  };

  const whileOpen = new Map([
    ["ArrowDown", () => choose(chosen + 1)],
    ["ArrowUp", () => choose(chosen - 1)],
    ["Enter", take],
    ["Tab", take],
    ["Escape", hide],
  ]);
  field.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    const act = !list.hidden && isPlain ? whileOpen.get(event.key) : undefined;
    if (act !== undefined) act();
    else if (event.key === "Enter" && isPlain) breakLine();
    else if (event.key === " " && event.ctrlKey) offer(true);
    else return;
    event.preventDefault();
  });
  field.addEventListener("input", () => {
    paint();
    offer(false);
  });
  field.addEventListener("scroll", scroll);
  field.addEventListener("blur", hide);
  return {
    get text() {
      return field.value;
    },
    set text(text) {
      field.value = text;
      paint();
    },
    get place() {
      return field.selectionStart;
    },
    /** Replaces the text; it can be undone. */
    replace: (text) => {
      field.select();
      type(text);
      field.setSelectionRange(0, 0);
      hide();
    },
    offer: () => offer(true),
  };
};
