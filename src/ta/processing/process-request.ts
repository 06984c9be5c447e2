/**
 * What is done for a request, from taking it up to its final state: every step is recorded before the
 * next one, and each can be taken up again by another worker after a crash.
 *
 * The rule that matters: a transaction is stored before it is submitted, and a request that has one
 * never gets another. Before that `sign-request.ts` is at work, and from then on `follow-transaction.ts`.
 */
import { followTransaction } from "./follow-transaction.ts";
import type { OpenRequest } from "./open-request.ts";
import { NO_PATIENCE } from "./patience.ts";
import { type Ending, recordStep } from "./record.ts";
import {
  failed,
  type Processing,
  type SignedRequest,
  succeeded,
  WALLET_TAKEN,
  type Waiting,
} from "./request-work.ts";
import { signRequest } from "./sign-request.ts";
import { claimWallet } from "./wallet-claims.ts";

/**
 * Processes a request up to its end, or until `turnOver` aborts.
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and what the database throws
 */
export const processRequest = async (
  work: Processing,
  request: OpenRequest,
): Promise<Ending | Waiting> => {
  const { database, claim } = work;
  if (request.status === "QUEUED") await recordStep(database, claim, request, "taken up");
  // What became of a transaction is told also when the investor's data were deleted meanwhile.
  const { txId, signed: bytes, groupId } = request;
  if (txId !== null && bytes !== null && groupId !== null) {
    const signed = { ...request, txId, signed: bytes, groupId };
    // Waited for on the spot when it was signed; what has not come by then may take long.
    return await followTransaction({ ...work, patience: NO_PATIENCE }, signed, { again: true });
  }
  if (!(await work.vault.holds(request.id))) {
    return failed(
      "PII_STORAGE_ERROR",
      "the investor's data are not stored; send them under a new Idempotency-Key, with a bound signature",
    );
  }
  if (request.kind === "kyc") return succeeded("the investor's data are stored");
  if (request.verifiedStatus !== true) {
    return failed("INVALID_MESSAGE", "verifiedStatus is false: the wallet is not whitelisted");
  }
  if (!(await claimWallet(database.sql, claim, request))) return WALLET_TAKEN;
  const signed = await signRequest(work, request);
  if (typeof signed === "string" || !isSigned(signed)) return signed;
  return await followTransaction(work, signed, { again: false });
};

const isSigned = (value: SignedRequest | Ending): value is SignedRequest => "signed" in value;
