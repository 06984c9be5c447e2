/**
 * `holderbook-client` where there is no Node: reading, following and verifying statements. What signs or
 * receives callbacks holds secrets or listens, and belongs on a server.
 */
export { BookError } from "./asking.mjs";
export { createBook } from "./book.mjs";
export { canonicalJson, NotCanonicalError } from "./canonical-json.mjs";
export { createTransferEvents } from "./transfer-events.mjs";
export { StatementError, verifyStatement } from "./verify-statement.mjs";
