/**
 * The read key that the demo ledger lends. The link that `start` prints has a token behind its #, which is good once;
 * this browser then keeps the key, so that a reload or a second tab opens signed in. Keys that people type in are kept
 * nowhere: this one opens made-up data alone.
 */
import { AskError, askPath } from "./ask.ts";
import { reading } from "./read.ts";

const MARK = "#demo=";

/** GraphiQL looks there, too. */
const PLACE = "holderbook.demo-key";

/** The token in the address, which is taken out of it: before the router sees it, and for no bookmark. */
const takenFromAddress = (): string | null => {
  const { hash, pathname, search } = location;
  if (!hash.startsWith(MARK)) return null;
  history.replaceState(history.state, "", `${pathname}${search}`);
  return hash.slice(MARK.length);
};

let token = takenFromAddress();

// A link that is opened in a tab of this page changes what is behind the # and loads nothing.
addEventListener("hashchange", () => {
  if (location.hash.startsWith(MARK)) location.reload();
});

const readLent = reading("lent session", (it) => it.at("key").text());

/** Null where nothing is kept, and where the browser forbids it. */
const keptKey = (): string | null => {
  try {
    return localStorage.getItem(PLACE);
  } catch {
    return null;
  }
};

const keep = (key: string): void => {
  try {
    localStorage.setItem(PLACE, key);
  } catch {
    // Then a reload asks for another link.
  }
};

/** Forgets the lent key, in this tab and in those to come. */
export const forgetLent = (): void => {
  try {
    localStorage.removeItem(PLACE);
  } catch {
    // Nothing was kept.
  }
};

/** The lent key: of the link, or kept from before; null without. @throws AskError when the link opens nothing */
export const lentKey = async (): Promise<string | null> => {
  if (token === null) return keptKey();
  try {
    const key = await askPath("/demo/session", readLent, { body: { token } });
    token = null;
    keep(key);
    return key;
  } catch (error) {
    const isRefused = error instanceof AskError && error.status === 403;
    if (!isRefused) throw error;
    token = null;
    const kept = keptKey();
    if (kept === null) throw error;
    return kept;
  }
};
