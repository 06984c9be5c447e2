/**
 * `holderbook-client` where there is no Node: reading, following, and verifying what is signed. What signs or
 * receives callbacks holds secrets or listens, and belongs on a server.
 */
export { BookError } from "./asking.mjs";
export { createBook } from "./book.mjs";
export { canonicalJson, NotCanonicalError } from "./canonical-json.mjs";
export { inTokens } from "./in-tokens.mjs";
export { createTransferEvents } from "./transfer-events.mjs";
export { AuditPackError, verifyAuditPack } from "./verify-audit-pack.mjs";
export { isLogHeadSigned } from "./verify-log-head.mjs";
export { entryHash, SequenceError, verifySequence } from "./verify-sequence.mjs";
export { StatementError, verifyStatement } from "./verify-statement.mjs";
