/** A callback's body as operators see it: exact, and without what names an investor. */

import { parseExactly } from "../../client/exact-json.ts";
import type { JsonValue } from "../../client/index.ts";

/** Members of a result that name no investor; a new one stays hidden until it is listed. */
const SHOWN_OF_RESULT: ReadonlySet<string> = new Set([
  "requestId",
  "type",
  "status",
  "message",
  "reason",
  "outcome",
  "txId",
  "timestamp",
]);

/** These carry what the ledger shows everybody, or nothing of any investor. */
const OPEN_TYPES: ReadonlySet<string> = new Set(["transfer_event", "test"]);

const SEALED = "(sealed)";

/** @param text JSON as it was sent, an object */
export const shownBody = (type: string, text: string): { readonly [name: string]: JsonValue } => {
  // Written by `enqueueCallbacks`, from such an object.
  const body = parseExactly(text) as { readonly [name: string]: JsonValue };
  if (OPEN_TYPES.has(type)) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, SHOWN_OF_RESULT.has(name) ? value : SEALED]),
  );
};
