/** What `holderbook/client` has for checking, loaded when something is checked. */

export type { Statement } from "../../../../../client/verify-statement.mjs";

/** Statements, and what is signed of roots. */
export const loadStatements = () => import("../../../../../client/verify-statement.mjs");

/** The tree over a register's rows. */
export const loadSumTree = () => import("../../../../../client/sum-tree.mjs");

/** What other things are hashed and signed with: BLAKE2b, Ed25519, RFC 8785 JSON. */
export const loadSignatures = async () => {
  const [{ blake2b, ed25519 }, { canonicalJson }] = await Promise.all([
    import("../../../../../client/noble.mjs"),
    import("../../../../../client/canonical-json.mjs"),
  ]);
  return { blake2b, ed25519, canonicalJson };
};
