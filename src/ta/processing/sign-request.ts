/**
 * From a request to its one transaction: looks where the wallet stands, finds what pays, asks the signer,
 * and stores what is signed.
 */
import { requestTrace } from "../../telemetry/tracing.ts";
import { pause } from "../../waiting/backoff.ts";
import type { SignedOrder, UnsignedOrder } from "../ledgers/relay.ts";
import { SigningError, SigningNotAllowedError } from "../ledgers/signer.ts";
import { isUpToDate } from "./freshness.ts";
import { adoptHolder, holderIdOf } from "./holder-ids.ts";
import { releaseIdleReservations } from "./idle-reservations.ts";
import type { OpenRequest } from "./open-request.ts";
import { waitFor } from "./patience.ts";
import { type Ending, recordSigned, recordStep } from "./record.ts";
import type { WalletPlace } from "./register.ts";
import { failed, LATER, NONE_FREE, type Processing, type SignedRequest } from "./request-work.ts";
import { giveUpReservation, reserve } from "./reservations.ts";
import { countSigningTry, SIGNING_TRIES, uncountSigningTry } from "./signing-tries.ts";

/** After the first try; longer after each of the others. */
const SIGNING_PAUSE_MS = 500;

/**
 * Looks where the wallet stands, and signs and stores the transaction that is needed. Its wallet is
 * claimed for the request before.
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and what the database throws
 */
export const signRequest = async (
  work: Processing,
  request: OpenRequest,
): Promise<SignedRequest | Ending | typeof LATER | typeof NONE_FREE> => {
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
    await giveUpReservation(database, claim, request);
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
  const resources = await relay.resources(signal);
  const resource = await reserve(database.sql, claim, request, relay.payer, resources);
  if (resource === undefined) {
    // Their requests may be making no progress.
    await releaseIdleReservations(database, relay, resources, signal);
    return NONE_FREE;
  }
  const { id: requestId, wallet } = request;
  const order = { requestId, asset: asset.name, wallet, groupId, holderId };
  for (;;) {
    const beganMs = performance.now();
    const unsigned = await relay.prepare(order, resource, signal);
    const number = await countSigningTry(database, claim, request);
    if (number > SIGNING_TRIES) {
      return failed("SIGNING_ERROR", `the signer did not sign in ${SIGNING_TRIES} tries`);
    }
    const made = await trySigning(work, request, unsigned);
    work.tracing.tell({
      trace: requestTrace(request.id),
      name: "sign transaction",
      beganMs,
      attributes: { asset: asset.name, try: number },
      ...(made instanceof Error && { error: made }),
    });
    if (!(made instanceof Error)) {
      const stored = { ...made, groupId, resource };
      await recordSigned(database, claim, request, stored);
      return { ...request, ...stored };
    }
    if (made instanceof SigningNotAllowedError) return failed("SIGNING_NOT_ALLOWED", made.message);
    if (made.remedy === "stop" || number === SIGNING_TRIES) {
      return failed("SIGNING_ERROR", made.message);
    }
    await pause(SIGNING_PAUSE_MS * number, turnOver);
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
