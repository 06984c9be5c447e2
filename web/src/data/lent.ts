/**
 * The keys that the demo lends. The link that `start` prints has a single-use token behind its #. This browser then
 * keeps the key, so that a reload or a second tab opens signed in. Only the read key is kept: it opens fictional data, and
 * is exchanged for the demo's operator key on request.
 */
import type { LentSession } from "./answers.ts";
import { AskError, askPath } from "./ask.ts";
import type { KeyKind } from "./session.ts";
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

/** The kind of the demo's keys that this tab uses; the read key by default. */
const keptKind = kept("holderbook.demo-kind", { tab: true });

/** Forgets the lent keys, in this tab and in new ones. */
export const forgetLent = () => {
  keptKey.remove();
  keptKind.remove();
};

/** Whether this browser keeps a lent key. */
export const isLent = (): boolean => keptKey.get() !== null;

/** The lent key, from the link or kept from before; null without. @throws AskError for a link that is no longer valid */
const lentKey = async (): Promise<string | null> => {
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

/**
 * A lent key of this kind, which the tab then opens with; null without a read key to ask with.
 * @throws AskError where the demo lends no operator key
 */
export const lentKeyOf = async (kind: KeyKind): Promise<string | null> => {
  const read = keptKey.get();
  if (read === null || kind === "graphql") {
    keptKind.remove();
    return read;
  }
  const { key } = await askPath<LentSession>("/demo/operator", { key: read, body: {} });
  keptKind.set(kind);
  return key;
};

/** The lent key that the page opens with: of the kind that this tab used last. @throws AskError as `lentKey` */
export const firstLentKey = async (): Promise<string | null> => {
  const read = await lentKey();
  if (read === null || keptKind.get() !== "operator") return read;
  return lentKeyOf("operator").catch(() => read);
};
