export { BookError } from "./asking.mjs";
export {
  type At,
  type Balance,
  type BalanceChange,
  type Book,
  type CapTable,
  type CapTableRow,
  type CountedToken,
  createBook,
  type Grant,
  type Holder,
  type HolderEvent,
  type Meta,
  type PipelineStatus,
  type RoleEvent,
  type StateRange,
  type Token,
  type TokenActivity,
  type TokenObject,
  type WalletRole,
} from "./book.mjs";
export { canonicalJson, type JsonValue, NotCanonicalError } from "./canonical-json.mjs";
export { generateKeyPair, KeyFormatError } from "./ed25519.mjs";
export { inTokens } from "./in-tokens.mjs";
export { type SignedHeaders, signRequest } from "./sign-request.mjs";
export {
  type Accepted,
  createTransferAgent,
  type RequestSeen,
  type RequestStatus,
  type TransferAgent,
} from "./transfer-agent.mjs";
export {
  createTransferEvents,
  type TransferEvent,
  type TransferEvents,
} from "./transfer-events.mjs";
export {
  AuditPackError,
  type PackRegister,
  type VerifiedPack,
  verifyAuditPack,
} from "./verify-audit-pack.mjs";
export {
  type CallbackHeaders,
  CallbackMalformedError,
  CallbackSignatureError,
  CallbackTooOldError,
  type PublicKey,
  type PublicKeys,
  type VerifiedCallback,
  verifyBodySignature,
  verifyCallback,
} from "./verify-callback.mjs";
export { isLogHeadSigned, type LogHead } from "./verify-log-head.mjs";
export {
  entryHash,
  type SequenceEntry,
  SequenceError,
  type VerifiedSequence,
  verifySequence,
} from "./verify-sequence.mjs";
export {
  type Statement,
  StatementError,
  type StatementRow,
  type StatementStep,
  verifyStatement,
} from "./verify-statement.mjs";
