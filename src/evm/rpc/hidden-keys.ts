/** Keeping providers' keys, which stand in URLs, out of what their RPCs say: some quote them. */
import { onlyPlaces } from "../../values/place.ts";

/** Takes what of a URL may be a key out of a text. */
export const keysHidden = (url: string): ((text: string) => string) => {
  const { username, password, pathname, searchParams } = new URL(url);
  const keys = [username, password, ...pathname.split("/"), ...searchParams.values()]
    .flatMap((part) => [part, decoded(part)])
    .filter(({ length }) => length >= SHORTEST_KEY)
    .toSorted((a, b) => b.length - a.length);
  return (text) => keys.reduce((hidden, key) => hidden.replaceAll(key, "…"), text);
};

/** Shorter parts of a path are words, such as `v2` or `mainnet`. */
const SHORTEST_KEY = 8;

/** Letters and digits in one long word that is no hex number of the chain's: a key, or a part of one. */
const KEY_LIKE = /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{16,}/gi;

/**
 * An RPC's words, of which the keys of its own URL were taken out, with of other URLs the scheme and host
 * alone, and without what looks like a key.
 */
export const harmless = (words: string): string =>
  onlyPlaces(words).replace(KEY_LIKE, "…").slice(0, LONGEST_WORDS);

const LONGEST_WORDS = 300;

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};
