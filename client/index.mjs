/**
 * `holderbook-client`: what users of the service need in their own programs, without dependencies.
 *
 * Plain JavaScript with its types beside it, because Node does not strip the types of files below
 * node_modules; the service itself uses the same canonical form and the same keys.
 */
export { BookError } from "./asking.mjs";
export { createBook } from "./book.mjs";
export { canonicalJson, NotCanonicalError } from "./canonical-json.mjs";
export { generateKeyPair, KeyFormatError } from "./ed25519.mjs";
export { inTokens } from "./in-tokens.mjs";
export { signRequest } from "./sign-request.mjs";
export { createTransferAgent } from "./transfer-agent.mjs";
export { createTransferEvents } from "./transfer-events.mjs";
export { AuditPackError, verifyAuditPack } from "./verify-audit-pack.mjs";
export {
  CallbackMalformedError,
  CallbackSignatureError,
  CallbackTooOldError,
  verifyBodySignature,
  verifyCallback,
} from "./verify-callback.mjs";
export { isLogHeadSigned } from "./verify-log-head.mjs";
export { entryHash, SequenceError, verifySequence } from "./verify-sequence.mjs";
export { StatementError, verifyStatement } from "./verify-statement.mjs";
