/** Keeps providers' keys, which are part of URLs, out of error texts: some RPCs quote them. */
import { onlyPlaces } from "../../values/place.ts";

/** Removes parts of the URL that may be keys from texts. */
export const keyRedactor = (url: string): ((text: string) => string) => {
  const { username, password, pathname, searchParams } = new URL(url);
  const keys = [username, password, ...pathname.split("/"), ...searchParams.values()]
    .flatMap((part) => [part, decoded(part)])
    .filter(({ length }) => length >= SHORTEST_KEY)
    .toSorted((a, b) => b.length - a.length);
  return (text) => keys.reduce((hidden, key) => hidden.replaceAll(key, "…"), text);
};

/** Shorter parts of a path are words, such as `v2` or `mainnet`. */
const SHORTEST_KEY = 8;

/** A long word of letters and digits that is not a hex number: a key, or part of one. */
const KEY_LIKE = /(?<![\w-])(?!0x)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{16,}/gi;

/** An RPC's text with other URLs cut to scheme and host, and without anything that looks like a key. */
export const redacted = (words: string): string =>
  onlyPlaces(words).replace(KEY_LIKE, "…").slice(0, LONGEST_WORDS);

const LONGEST_WORDS = 300;

const decoded = (part: string): string => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};
