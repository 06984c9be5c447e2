/** What `holderbook/client` has for checking, loaded when something is checked. */

export type { Statement } from "../../../../../client/verify-statement.ts";

import { part } from "../../../data/part.ts";

/** Statements, and what is signed of roots. */
export const loadStatements = part(() => import("../../../../../client/verify-statement.ts")).load;

/** Audit packs. */
export const loadPacks = part(() => import("../../../../../client/verify-audit-pack.ts")).load;

const noble = part(() => import("../../../../../client/noble.mjs"));
const canonical = part(() => import("../../../../../client/canonical-json.ts"));

/** What other things are hashed and signed with: BLAKE2b, Ed25519, RFC 8785 JSON. */
export const loadSignatures = async () => {
  const [{ blake2b, ed25519 }, { canonicalJson }] = await Promise.all([
    noble.load(),
    canonical.load(),
  ]);
  return { blake2b, ed25519, canonicalJson };
};
