/** `holderbook-client`: a dependency-free client for users' own programs. */
export * from "./browser.ts";
export { generateKeyPair, KeyFormatError } from "./ed25519.ts";
export { type SignedHeaders, signRequest } from "./sign-request.ts";
export {
  type Accepted,
  type CallbackDelivery,
  createTransferAgent,
  type ListedRequest,
  type RequestOutcome,
  type RequestSeen,
  type RequestStatus,
  type TransferAgent,
  type WhichRequests,
} from "./transfer-agent.ts";
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
} from "./verify-callback.ts";
