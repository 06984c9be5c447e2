/**
 * The read key that the demo lends. The link that `start` prints has a single-use token behind its #. This browser then
 * keeps the key, so that a reload or a second tab opens signed in. Only this key is kept: it opens fictional data.
 */
import type { LentSession } from "./answers.ts";
import { AskError, askPath } from "./ask.ts";
import { kept } from "./store.ts";

const MARK = "#demo=";

/** Shared with GraphiQL. Without storage a reload needs another link. */
const keptKey = kept("holderbook.demo-key");

/** Takes the token out of the address, before the router or a bookmark gets it. */
const takenFromAddress = (): string | null => {
  const { hash, pathname, search } = location;
  if (!hash.startsWith(MARK)) return null;
  history.replaceState(history.state, "", `${pathname}${search}`);
  return hash.slice(MARK.length);
};

let token = takenFromAddress();

// A link opened in a tab of this page changes only the #, and loads nothing.
addEventListener("hashchange", () => {
  if (location.hash.startsWith(MARK)) location.reload();
});

/** Forgets the lent key, in this tab and in new ones. */
export const forgetLent = keptKey.remove;

/** The lent key, from the link or kept from before; null without. @throws AskError for a link that is no longer valid */
export const lentKey = async (): Promise<string | null> => {
  if (token === null) return keptKey.get();
  try {
    const { key } = await askPath<LentSession>("/demo/session", { body: { token } });
    token = null;
    keptKey.set(key);
    return key;
  } catch (error) {
    const isRefused = error instanceof AskError && error.status === 403;
    if (!isRefused) throw error;
    token = null;
    const before = keptKey.get();
    if (before === null) throw error;
    return before;
  }
};
