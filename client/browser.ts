/**
 * `holderbook-client` without Node: reading, following, verifying. Signing requests and receiving
 * callbacks belong on a server.
 */
export { BookError, type ReadOptions } from "./asking.ts";
export { createBook } from "./book.ts";
export { canonicalJson, type JsonValue, NotCanonicalError } from "./canonical-json.ts";
export type { Amounts } from "./exact-json.ts";
export { inTokens } from "./in-tokens.ts";
export type {
  ActivityWithHolders,
  At,
  BackfillProgress,
  Balance,
  BalanceChange,
  Book,
  CapTable,
  CapTableRow,
  ChangeWithHolder,
  CountedToken,
  EventFilters,
  Followed,
  Grant,
  GuidedProgress,
  Hold,
  Holder,
  HolderChange,
  HolderCountPoint,
  HolderEvent,
  HolderRecord,
  KeptCopy,
  Label,
  Listed,
  Meta,
  PipelineStatus,
  QuarantinedCoin,
  RegisterCopy,
  Replay,
  ReplayProgress,
  RoleEvent,
  SearchHit,
  SeriesOf,
  StateRange,
  SupplyPoint,
  Token,
  TokenActivity,
  TokenObject,
  Transaction,
  Wallet,
  WalletRole,
  WalletToken,
  WithHolders,
} from "./register.ts";
export { correctedBeside } from "./root-corrections.ts";
export {
  createTransferEvents,
  type ExactTransferEvent,
  type TransferEvent,
  type TransferEvents,
} from "./transfer-events.ts";
export {
  AuditPackError,
  type PackRegister,
  type VerifiedPack,
  verifyAuditPack,
} from "./verify-audit-pack.ts";
export { isLogHeadSigned, type LogHead } from "./verify-log-head.ts";
export {
  entryHash,
  type SequenceEntry,
  SequenceError,
  type VerifiedSequence,
  verifySequence,
} from "./verify-sequence.ts";
export {
  type Statement,
  StatementError,
  type StatementRow,
  type StatementStep,
  verifyStatement,
} from "./verify-statement.ts";
