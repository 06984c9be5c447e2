/** A person at the page, with a mouse or with the keyboard alone: does what is asked, and counts what it took. */
import type { Download, FileChooser, Locator, Page } from "playwright-core";
import { searchField } from "../views.ts";

export type Effort = {
  /** Presses of the mouse's button; of a list that opens, one to open and one to choose. */
  clicks: number;
  /** Keys pressed, shortcuts as one; a letter that is typed is one, a text that is pasted is one. */
  keys: number;
  /** Texts that were typed or pasted. */
  texts: number;
};

/** What a person does on the page; each act waits until the page offers it. */
export type Hand = {
  readonly name: "mouse" | "keyboard";
  readonly page: Page;
  readonly effort: Effort;
  /** A link, a button, a box to tick, or a row. */
  use(control: Locator): Promise<void>;
  /** An entry of a list that opens, by its text. */
  choose(list: Locator, label: string): Promise<void>;
  /** Replaces a field's text; a date as `2026-05-04`. */
  write(field: Locator, text: string, enter?: "Enter"): Promise<void>;
  /** A view of the menu. */
  visit(view: string): Promise<void>;
  /** Finds a text with the search of the page, and opens the hit whose text matches; the first without one. */
  search(text: string, hit?: string | RegExp): Promise<void>;
  /** Uses a control that saves a file. */
  save(control: Locator): Promise<Download>;
  /** Uses a control that asks for a file, and gives it one. */
  give(control: Locator, file: Parameters<FileChooser["setFiles"]>[0]): Promise<void>;
};

/** More than this between two things on the page is a page that cannot be used by keyboard. */
const MOST_TABS = 150;

/** Hits that one goes through with the arrow keys. */
const MOST_HITS = 40;

/** Longer texts are pasted. */
const TYPED = 20;

const downloadOf = async (page: Page, use: () => Promise<void>): Promise<Download> => {
  const [download] = await Promise.all([page.waitForEvent("download"), use()]);
  return download;
};

const giveTo = async (
  page: Page,
  use: () => Promise<void>,
  file: Parameters<FileChooser["setFiles"]>[0],
) => {
  const [chooser] = await Promise.all([page.waitForEvent("filechooser"), use()]);
  await chooser.setFiles(file);
};

const fieldOf = (page: Page) => page.getByRole("combobox", { name: "Search" });

const hitOf = (page: Page, hit: string | RegExp | undefined): Locator => {
  const options = page.getByRole("option");
  return (hit === undefined ? options : options.filter({ hasText: hit })).first();
};

export const mouseOn = (page: Page): Hand => {
  const effort: Effort = { clicks: 0, keys: 0, texts: 0 };
  const use = async (control: Locator) => {
    await control.first().click();
    effort.clicks += 1;
  };
  return {
    name: "mouse",
    page,
    effort,
    use,
    choose: async (list, label) => {
      await use(list);
      await list.selectOption(label);
      effort.clicks += 1;
    },
    write: async (field, text, enter) => {
      await use(field);
      await field.fill(text);
      effort.texts += 1;
      if (enter !== undefined) await page.keyboard.press(enter);
    },
    visit: (view) =>
      use(page.getByRole("navigation", { name: "Pages" }).getByRole("link", { name: view })),
    search: async (text, hit) => {
      await use(page.getByTitle("Search (Ctrl-K or /)").filter({ visible: true }));
      await fieldOf(page).fill(text);
      effort.texts += 1;
      await use(hitOf(page, hit));
    },
    save: (control) => downloadOf(page, () => use(control)),
    give: (control, file) => giveTo(page, () => use(control), file),
  };
};

/** Where the focus is, from a control: on it, before it, behind it; or on the link that skips the menu. */
const focusFrom = (control: Locator): Promise<"here" | "before" | "behind" | "skip"> =>
  control.evaluate((element) => {
    const { activeElement: active } = document;
    if (active === null || active === document.body) return "before";
    if (active === element || (element.tagName === "TR" && element.contains(active))) return "here";
    const content = document.getElementById("content");
    const isSkip = active.getAttribute("href") === "#content";
    if (isSkip && content?.contains(element) === true) return "skip";
    const order = active.compareDocumentPosition(element);
    return (order & Node.DOCUMENT_POSITION_PRECEDING) === 0 ? "before" : "behind";
  });

export const keyboardOn = (page: Page): Hand => {
  const effort: Effort = { clicks: 0, keys: 0, texts: 0 };
  const press = async (key: string) => {
    await page.keyboard.press(key);
    effort.keys += 1;
  };
  const type = async (text: string) => {
    if (text.length > TYPED) await page.keyboard.insertText(text);
    else await page.keyboard.type(text);
    effort.keys += text.length > TYPED ? 1 : text.length;
    effort.texts += 1;
  };
  const reach = async (control: Locator) => {
    await control.first().waitFor();
    for (let tabs = 0; tabs < MOST_TABS; tabs += 1) {
      const from = await focusFrom(control.first());
      if (from === "here") return;
      await press(from === "skip" ? "Enter" : from === "behind" ? "Shift+Tab" : "Tab");
    }
    throw new Error(`${control} was not reached with ${MOST_TABS} presses of Tab`);
  };
  const use = async (control: Locator) => {
    await reach(control);
    const isBox = await control
      .first()
      .evaluate((element) => element instanceof HTMLInputElement && element.type === "checkbox");
    await press(isBox ? "Space" : "Enter");
  };
  const search: Hand["search"] = async (text, hit) => {
    await press("Control+k");
    await searchField(page);
    await type(text);
    const option = hitOf(page, hit);
    await option.waitFor();
    const isChosen = async () => (await option.getAttribute("data-highlighted")) !== null;
    for (let steps = 0; steps < MOST_HITS && !(await isChosen()); steps += 1) {
      await press("ArrowDown");
    }
    await press("Enter");
    await fieldOf(page).waitFor({ state: "detached" });
  };
  return {
    name: "keyboard",
    page,
    effort,
    use,
    choose: async (list, label) => {
      await reach(list);
      const chosen = () =>
        list.evaluate((one) =>
          one instanceof HTMLSelectElement ? (one.selectedOptions[0]?.text ?? "") : "",
        );
      const all = await list.locator("option").allTextContents();
      const [from, to] = [all.indexOf(await chosen()), all.indexOf(label)];
      if (to < 0) throw new Error(`${list} has ${all.join(", ")}, and no ${label}`);
      for (let at = from; at !== to; at += Math.sign(to - from)) {
        await press(to > from ? "ArrowDown" : "ArrowUp");
      }
    },
    write: async (field, text, enter) => {
      await reach(field);
      const isDay = (await field.getAttribute("type")) === "date";
      if (isDay) {
        // As the field's parts are in this browser's language.
        const [year = "", month = "", day = ""] = text.split("-");
        await type(`${month}${day}${year}`);
      } else {
        await press("Control+a");
        await type(text);
      }
      if (enter !== undefined) await press(enter);
    },
    visit: (view) => search(view.toLowerCase(), view),
    search,
    save: (control) => downloadOf(page, () => use(control)),
    give: (control, file) => giveTo(page, () => use(control), file),
  };
};
