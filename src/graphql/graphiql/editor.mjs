// The editor of the query: a text field over its own colours, with completion.
import { suggestions } from "./schema.mjs";
import { styleOf, tokensOf } from "./text.mjs";

/** An element with its attributes and what is in it; texts stay texts. */
export const element = (name, attributes = {}, ...children) => {
  const made = document.createElement(name);
  for (const [attribute, value] of Object.entries(attributes)) made.setAttribute(attribute, value);
  made.append(...children);
  return made;
};

/** Longer texts are shown without colours. */
const MOST_COLOURED = 200_000;

/** A text in colours. */
export const coloured = (text) =>
  text.length > MOST_COLOURED
    ? [text]
    : tokensOf(text).map((token) => {
        const style = styleOf(token);
        return ["space", "mark", "name"].includes(style)
          ? token.word
          : element("span", { class: style }, token.word);
      });

/** Suggestions shown at a time. */
const MOST_WORDS = 50;

/**
 * @param field the text field, `colours` what lies under it, `list` where completions are shown
 * @param schema what is known of it; undefined: nothing
 */
export const createEditor = ({ field, colours, list, schema }) => {
  let offered = { begun: "", all: [] };
  let chosen = 0;

  const paint = () => {
    // The last line is seen, too, when it is empty.
    colours.replaceChildren(...coloured(`${field.value}\n`));
    scroll();
  };
  const scroll = () => {
    colours.scrollTop = field.scrollTop;
    colours.scrollLeft = field.scrollLeft;
  };

  const hide = () => {
    list.hidden = true;
    field.removeAttribute("aria-activedescendant");
  };

  const mark = () => {
    [...list.children].forEach((item, at) => {
      item.setAttribute("aria-selected", String(at === chosen));
      if (at !== chosen) return;
      item.scrollIntoView({ block: "nearest" });
      field.setAttribute("aria-activedescendant", item.id);
    });
  };

  /** Below the beginning of the word: letters are all of one width. */
  const place = () => {
    const before = field.value.slice(0, field.selectionStart - offered.begun.length).split("\n");
    const { lineHeight, paddingTop, paddingLeft, font } = getComputedStyle(field);
    const canvas = document.createElement("canvas").getContext("2d");
    canvas.font = font;
    const left = before.at(-1).length * canvas.measureText("0").width - field.scrollLeft;
    const top = before.length * Number.parseFloat(lineHeight) - field.scrollTop;
    const room = field.clientWidth - list.offsetWidth - 4;
    list.style.left = `${Math.max(4, Math.min(room, left + Number.parseFloat(paddingLeft)))}px`;
    const below = top + Number.parseFloat(paddingTop);
    const isLow = below + list.offsetHeight > field.clientHeight && top > list.offsetHeight;
    list.style.top = `${isLow ? below - list.offsetHeight - Number.parseFloat(lineHeight) : below}px`;
  };

  const offer = (isAsked) => {
    if (schema() === undefined || field.selectionStart !== field.selectionEnd) return hide();
    offered = suggestions(schema(), field.value, field.selectionStart);
    if (offered.all.length === 0 || (offered.begun === "" && !isAsked)) return hide();
    chosen = 0;
    list.replaceChildren(
      ...offered.all.slice(0, MOST_WORDS).map(({ name, type, description }, at) => {
        const item = element(
          "div",
          { role: "option", id: `word-${at}`, title: description },
          name,
          element("small", {}, type),
        );
        item.addEventListener("mousedown", (event) => {
          event.preventDefault();
          chosen = at;
          take();
        });
        return item;
      }),
    );
    list.hidden = false;
    place();
    mark();
  };

  /** As if it were typed: it can be undone. */
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

  const move = (by) => {
    const count = list.children.length;
    chosen = (chosen + by + count) % count;
    mark();
  };

  const newLine = () => {
    const before = field.value.slice(0, field.selectionStart);
    const indent = /[^\n]*$/.exec(before)[0].match(/^ */)[0];
    const opens = /[{([]\s*$/.test(before);
    const closes = /^\s*[})\]]/.test(field.value.slice(field.selectionEnd));
    type(`\n${indent}${opens ? "  " : ""}`);
    if (!opens || !closes) return;
    const at = field.selectionStart;
    type(`\n${indent}`);
    field.setSelectionRange(at, at);
  };

  const whileOpen = new Map([
    ["ArrowDown", () => move(1)],
    ["ArrowUp", () => move(-1)],
    ["Enter", take],
    ["Tab", take],
    ["Escape", hide],
  ]);
  field.addEventListener("keydown", (event) => {
    const isPlain = !event.ctrlKey && !event.metaKey && !event.altKey && !event.shiftKey;
    const act = !list.hidden && isPlain ? whileOpen.get(event.key) : undefined;
    if (act !== undefined) act();
    else if (event.key === "Enter" && isPlain) newLine();
    else if (event.key === " " && event.ctrlKey) offer(true);
    else return;
    event.preventDefault();
  });
  field.addEventListener("input", () => {
    paint();
    offer(false);
  });
  field.addEventListener("scroll", () => {
    scroll();
    hide();
  });
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
