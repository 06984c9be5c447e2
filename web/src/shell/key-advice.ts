/** Advice on a text that was entered as a key, before and after the service was asked. */
import { AskError } from "../data/ask.ts";
import type { KeyKind } from "../data/session.ts";

/** Kinds of keys for other interfaces, and their purpose. */
const OTHERS: Readonly<Record<string, string>> = {
  project: "It reads a project's transfer events over REST.",
  ta: "It signs requests to the transfer agent.",
};

/** Keys that the page accepts. */
const FORM = /^hb_(?:graphql|operator)_[A-Za-z0-9_-]{43}$/;

/**
 * Why a text cannot be a key of this page; null when only the service can tell. Sends nothing.
 * @param needed the only kind that the page in view accepts
 */
export const keyAdvice = (text: string, needed?: KeyKind): string | null => {
  const key = text.trim();
  if (needed === "operator" && key.startsWith("hb_graphql_")) {
    return "This is a read key, of kind graphql. It opens the register; this page needs a key of kind operator.";
  }
  if (key.startsWith("{") && key.includes("secretKey")) {
    return "This is the key pair of a transfer agent's caller. It signs requests and opens no page; keep it secret.";
  }
  const [, kind = ""] = /^hb_([a-z]+)_/.exec(key) ?? [];
  const other = OTHERS[kind];
  if (other !== undefined) {
    return `This is a ${kind} key. ${other} The page accepts keys of kind operator or graphql.`;
  }
  if (/^key_/.test(key)) {
    return "This is the id of a key. The key itself begins with hb_ and was shown once, when it was made.";
  }
  if (/\s/.test(key)) return "A key has no spaces or line breaks: copy it in one piece.";
  if (kind !== "" && !FORM.test(key)) {
    return "This key is incomplete: 43 letters, digits, - or _ follow its prefix.";
  }
  return null;
};

/** Why signing in failed, and what to do. */
export const refusalText = (error: unknown): string => {
  if (!(error instanceof AskError)) return error instanceof Error ? error.message : String(error);
  if (error.status === 401) {
    return "Unknown key: it was mistyped, was revoked, or belongs to another deployment.";
  }
  if (error.status === 429)
    return "Too many attempts from this address. Wait a minute, then try again.";
  return error.message;
};
