/**
 * What is done for a request, from taking it up to its final state: every step is recorded before the
 * next one, and each can be taken up again by another worker after a crash.
 *
 * The rule that matters: a transaction is stored before it is submitted, and a request that has one
 * never gets another. Whoever finds it asks the ledger what became of it, and submits the same bytes
 * again only when the ledger does not know it.
 */
import { setTimeout as delay } from "node:timers/promises";
import {
  type Executed,
  type SignedOrder,
  SubmissionRefusedError,
  type UnsignedOrder,
} from "../ports/relay.ts";
import { SigningError, SigningNotAllowedError } from "../ports/signer.ts";
import { isUpToDate } from "./freshness.ts";
import { adoptHolder, holderIdOf } from "./holder-ids.ts";
import { freeIdlePurses } from "./idle-purses.ts";
import { type OpenRequest, renewLane } from "./lanes.ts";
import { warnWhenNotShown, warnWhenOverdue } from "./overdue.ts";
import { NO_PATIENCE, waitFor } from "./patience.ts";
import { claimPurse, giveBackPurse, keepPurseOut, releasePurse } from "./purses.ts";
import { type Ending, recordRefusal, recordSigned, recordStep } from "./record.ts";
import { type Confirmation, NOT_FINAL, type WalletPlace } from "./register.ts";
import { LATER, NO_PURSE, type Processing, WALLET_TAKEN, type Waiting } from "./request-work.ts";
import { countSigningTry, SIGNING_TRIES, uncountSigningTry } from "./signing-tries.ts";
import { claimWallet } from "./wallet-claims.ts";

export type { ProcessedAsset } from "./request-work.ts";

/** After the first try; longer after each of the others. */
const SIGNING_PAUSE_MS = 500;

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
    return await broadcast({ ...work, patience: NO_PATIENCE }, signed, { again: true });
  }
  if (!(await work.vault.holds(request.id))) {
    return failed(
      "PII_STORAGE_ERROR",
      "the investor's data are not stored; send them under a new Idempotency-Key",
    );
  }
  if (request.kind === "kyc") return succeeded("the investor's data are stored");
  if (request.verifiedStatus !== true) {
    return failed("INVALID_MESSAGE", "verifiedStatus is false: the wallet is not whitelisted");
  }
  if (!(await claimWallet(database.sql, claim, request))) return WALLET_TAKEN;
  const signed = await sign(work, request);
  if (typeof signed === "string" || !isSigned(signed)) return signed;
  return await broadcast(work, signed, { again: false });
};

/** A request whose transaction is stored. */
type SignedRequest = OpenRequest & {
  readonly txId: string;
  readonly signed: Uint8Array;
  readonly groupId: number;
};

const isSigned = (value: SignedRequest | Ending): value is SignedRequest => "signed" in value;

const succeeded = (message: string): Ending => ({ status: "SUCCESS", message });

const failed = (
  reason: Extract<Ending, { status: "FAILED" }>["reason"],
  message: string,
): Ending => ({
  status: "FAILED",
  reason,
  message,
});

/** Looks where the wallet stands, and signs and stores the transaction that is needed. */
const sign = async (
  work: Processing,
  request: OpenRequest,
): Promise<SignedRequest | Ending | typeof LATER | typeof NO_PURSE> => {
  const { database, claim, asset, signal, turnOver } = work;
  const { register, relay, whitelistGroupId: groupId } = asset;
  // Fresh enough: the projections know all that the ledger's node had when this step began.
  if (!(await isUpToDate(work, request))) return LATER;
  let place = await register.place(request.wallet);
  const isThere = () => place.group === BigInt(groupId);
  const known = await waitFor(work, async () => {
    if (isThere() && !place.final) place = await register.place(request.wallet);
    return !isThere() || place.final;
  });
  if (!known) {
    await giveBackPurse(database, claim, request);
    return LATER;
  }
  const { holderId: found } = place;
  const isOwn = found === undefined || (await adoptHolder(database.sql, register, request, found));
  if (isThere()) {
    return failed("ALREADY_WHITELISTED", `the wallet is in group ${groupId} already`);
  }
  const holderId =
    place.registered === false ? await holderIdOf(database.sql, register, request) : null;
  const isNew = holderId !== null && !(await register.knowsHolder(holderId));
  await recordStep(database, claim, request, placeWords(place, isNew, isOwn));
  const purses = await relay.purses(signal);
  const purse = await claimPurse(database.sql, claim, request, relay.payer, purses);
  if (purse === undefined) {
    // Perhaps nobody gets on with those who have them.
    await freeIdlePurses(database, relay, purses, signal);
    return NO_PURSE;
  }
  const { id: requestId, wallet } = request;
  const order = { requestId, asset: asset.name, wallet, groupId, holderId };
  for (;;) {
    const unsigned = await relay.prepare(order, purse, signal);
    const number = await countSigningTry(database, claim, request);
    if (number > SIGNING_TRIES) {
      return failed("SIGNING_ERROR", `the signer did not sign in ${SIGNING_TRIES} tries`);
    }
    const made = await trySigning(work, request, unsigned);
    if (!(made instanceof Error)) {
      const stored = { ...made, groupId, purse };
      await recordSigned(database, claim, request, stored);
      return { ...request, ...stored };
    }
    if (made instanceof SigningNotAllowedError) return failed("SIGNING_NOT_ALLOWED", made.message);
    if (made.remedy === "stop" || number === SIGNING_TRIES) {
      return failed("SIGNING_ERROR", made.message);
    }
    await delay(SIGNING_PAUSE_MS * number, undefined, { signal: turnOver }).catch(() => undefined);
    if (turnOver.aborted) return LATER;
  }
};

/** Where the wallet stands, without naming the holder. */
const placeWords = ({ registered, group }: WalletPlace, isNew: boolean, isOwn: boolean): string => {
  const where = `the wallet is in ${group === null ? "no group" : `group ${group}`}`;
  if (registered === null) return where;
  if (!isOwn) return `${where} and belongs to another holder than the investor's`;
  if (registered) return `${where} and belongs to a holder`;
  return `${where} and belongs to no holder; it joins ${isNew ? "a new one" : "the investor's"}`;
};

/** The signed transaction, or what the signer has against it; a try that we cut off does not count. */
const trySigning = async (
  { database, claim, signal }: Processing,
  request: OpenRequest,
  unsigned: UnsignedOrder,
): Promise<SignedOrder | SigningNotAllowedError | SigningError> => {
  try {
    return await unsigned.sign(signal);
  } catch (error) {
    const told = error instanceof SigningNotAllowedError || error instanceof SigningError;
    if (told && error.remedy === "stop") return error;
    if (signal.aborted) await uncountSigningTry(database, claim, request);
    if (told && !signal.aborted) return error;
    throw error;
  }
};

/**
 * Gets the stored transaction onto the ledger, and waits until the projections show what it did.
 * `again`: it was found stored, so it may have been submitted before.
 */
const broadcast = async (
  work: Processing,
  request: SignedRequest,
  { again }: { readonly again: boolean },
): Promise<Ending | typeof LATER> => {
  const { database, claim, asset, signal } = work;
  const { relay, register } = asset;
  const { txId } = request;
  // Asked before looking: what is found in a final block then is for good.
  let final = await register.finalPlace();
  let executed = await relay.lookUp(txId, signal);
  if (executed === null) {
    if (again) await warnWhenOverdue(database, work.logger, request);
    if (request.refusal !== null) return await refused(work, request, request.refusal);
    await renewLane(database.sql, claim);
    const refusal = await submitted(() => relay.submit(request.signed, signal, again));
    if (refusal === undefined) await recordStep(database, claim, request, "submitted");
    const known = await waitFor(work, async () => {
      final = await register.finalPlace();
      executed = await relay.lookUp(txId, signal);
      return executed !== null || refusal !== undefined;
    });
    if (!known) return LATER;
    if (refusal !== undefined && executed === null) {
      await recordRefusal(database, claim, request, refusal);
      return await refused(work, request, refusal);
    }
  }
  if (executed === null) return LATER;
  const ending = await settled(work, request, executed, final);
  if (ending === LATER) await warnWhenNotShown(database, work.logger, request);
  return ending;
};

/**
 * Refused, and the ledger's node does not know it from an earlier submission either. It may have
 * forgotten it: the register has not. Nobody submits it from here on, so what the register does not
 * show when it has come to where the node was after that was never executed.
 */
const refused = async (
  work: Processing,
  request: SignedRequest,
  refusal: string,
): Promise<Ending | typeof LATER> => {
  const { asset } = work;
  if (!(await isUpToDate(work, request))) return LATER;
  const found = await shown(work, request, { place: null }, true);
  if (found !== null) return found;
  const purse = await keepPurseOut(work.database.sql, request);
  if (purse !== undefined) {
    work.logger.warn(
      { requestId: request.id, asset: asset.name, txId: request.txId, purse, refusal },
      `transfer agent: the ledger refused what ${purse} was to pay for; it pays for nothing until it ` +
        "has another version, or for half an hour",
    );
  }
  return failed("BROADCAST_SUBMIT_ERROR", `the ledger refused the transaction: ${refusal}`);
};

/** `final`: last place that was final before it was looked up; null where everything is. */
const settled = async (
  work: Processing,
  request: SignedRequest,
  executed: Executed,
  final: bigint | null,
): Promise<Ending | typeof LATER> => {
  const { database, claim, asset } = work;
  const { txId } = request;
  const { error, place } = executed;
  const isFinal = (last: bigint | null) => last === null || (place !== null && place <= last);
  if (error !== null && isFinal(final)) {
    return failed("BROADCAST_FAILED", `transaction ${txId} failed: ${error}`);
  }
  const where = place === null ? "" : ` at ${place}`;
  const words =
    error === null
      ? `executed${where}; waiting until the register shows it`
      : `failed${where}: ${error}; waiting until that is final`;
  await recordStep(database, claim, request, words);
  await releasePurse(database, request);
  work.poke();
  if (isFinal(final)) return (await shown(work, request, executed)) ?? LATER;
  // A reorganisation may put it elsewhere or nowhere: it is looked up again before anything is said.
  const passed = await waitFor(work, async () => isFinal(await asset.register.finalPlace()));
  return passed ? await broadcast(work, request, { again: true }) : LATER;
};

/** Waits until the register shows what the transaction did; with `now`, only for that to be final. */
const shown = async (
  work: Processing,
  request: SignedRequest,
  { place, index }: Pick<Executed, "place" | "index">,
  now = false,
): Promise<Ending | typeof LATER | null> => {
  const { database, claim, asset } = work;
  const { wallet, groupId, txId } = request;
  const by = { txId, place, ...(index !== undefined && { index }) };
  let found: Confirmation | typeof NOT_FINAL | null = null;
  await waitFor(work, async () => {
    found = await asset.register.confirmed(wallet, groupId, by);
    return found === null ? now : found !== NOT_FINAL;
  });
  if (found === null || found === NOT_FINAL) return found === null ? null : LATER;
  await recordStep(database, claim, request, "confirmed by the register");
  return succeeded(confirmedWords(found, request));
};

/**
 * What the transaction did, and nothing about where the wallet is now: it may have been moved on in the
 * same checkpoint.
 */
const confirmedWords = (
  found: Confirmation,
  { txId, groupId }: Pick<SignedRequest, "txId" | "groupId">,
): string =>
  found === "put by it"
    ? `the wallet was put into group ${groupId} by transaction ${txId}`
    : `transaction ${txId} found the wallet in group ${groupId}: another one had put it there`;

/** Why the node refused the transaction; undefined when it took it. */
const submitted = async (submit: () => Promise<void>): Promise<string | undefined> => {
  try {
    await submit();
    return undefined;
  } catch (error) {
    if (error instanceof SubmissionRefusedError) return error.message;
    throw error;
  }
};
