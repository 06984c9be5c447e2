const PARTS = /^([a-z][a-z0-9+.-]*:\/\/)?([^/?#]*)(.*)$/is;

/**
 * Shows scheme and host, and an ellipsis for the rest: providers put keys into path, query or user.
 * `dir:`, `archive:` and `demo:` hold no key and are shown whole.
 * @param text a URL, or a text given in place of one
 */
export const shownUrl = (text: string): string => {
  if (/^(dir|demo):/.test(text)) return text;
  const [, scheme = "", authority = "", rest = ""] = PARTS.exec(text.trim()) ?? [];
  const host = authority.slice(authority.lastIndexOf("@") + 1);
  const whole = host === authority && (rest === "" || rest === "/");
  return whole ? `${scheme}${host}` : `${scheme}${host}/…`;
};
