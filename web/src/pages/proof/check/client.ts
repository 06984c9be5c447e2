/** What `holderbook/client` has for checking, loaded when something is checked. */

export type { Statement } from "../../../../../src/client/verify-statement.mjs";

/** Statements, and what is signed of roots. */
export const loadStatements = () => import("../../../../../src/client/verify-statement.mjs");

/** Signatures of other files: Ed25519 over RFC 8785 JSON. */
export const loadSignatures = async () => {
  const [{ ed25519 }, { canonicalJson }] = await Promise.all([
    import("../../../../../src/client/noble.mjs"),
    import("../../../../../src/client/canonical-json.mjs"),
  ]);
  return { ed25519, canonicalJson };
};
