/** A scheme where there is one, a host, and the rest. */
const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)(.*)$/is;

/**
 * A network address as it may be shown: its scheme and host, and an ellipsis for what follows.
 * Providers put their keys into the path, the query or the user. What holds no key, `dir:` and `demo:`,
 * is shown whole.
 *
 * @param text a URL, or a text given in place of one
 */
export const shownUrl = (text: string): string => {
  if (/^(dir|demo):/.test(text)) return text;
  const [, scheme = "", authority = "", rest = ""] = PARTS.exec(text.trim()) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const whole = host === authority && (rest === "" || rest === "/");
  return whole ? `${scheme}${host}` : `${scheme}${host}/…`;
};
