export { canonicalJson, type JsonValue, NotCanonicalError } from "./canonical-json.mjs";
export { generateKeyPair, KeyFormatError } from "./ed25519.mjs";
export { type SignedHeaders, signRequest } from "./sign-request.mjs";
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
export {
  type Statement,
  StatementError,
  type StatementRow,
  type StatementStep,
  verifyStatement,
} from "./verify-statement.mjs";
