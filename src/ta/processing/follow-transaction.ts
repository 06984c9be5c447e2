/**
 * From a stored transaction to the request's end. Looks the transaction up, and submits the same bytes again
 * only when the ledger does not know it and has not refused it.
 */
import { requestTrace } from "../../telemetry/tracing.ts";
import { type Executed, SubmissionRefusedError } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import { isUpToDate } from "./freshness.ts";
import { warnWhenNotShown, warnWhenOverdue } from "./overdue.ts";
import { waitFor } from "./patience.ts";
import { type Ending, recordRefusal, recordStep } from "./record.ts";
import { type Confirmation, NOT_FINAL } from "./register.ts";
import { failed, LATER, type Processing, type SignedRequest, succeeded } from "./request-work.ts";
import { keepOut, releaseReservation } from "./reservations.ts";

/**
 * Gets the stored transaction onto the ledger, and waits until the projections show what it did.
 * `again`: it was found stored, so it may have been submitted before.
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and what the database throws
 */
export const followTransaction = async (
  work: Processing,
  request: SignedRequest,
  { again }: { readonly again: boolean },
): Promise<Ending | typeof LATER> => {
  const { database, claim, asset, signal } = work;
  const { relay, register } = asset;
  const { txId } = request;
  let beganMs = performance.now();
  // Asked before looking: what is found in a final block then is for good.
  let final = await register.finalPlace();
  let executed = await relay.lookUp(txId, signal);
  if (executed === null) {
    if (again) await warnWhenOverdue(database, work.logger, request);
    if (request.refusal !== null) return await refused(work, request, request.refusal);
    await investorLanes.renew(database.sql, claim);
    const submitMs = performance.now();
    const refusal = await submitted(() => relay.submit(request.signed, signal, again));
    work.tracing.tell({
      trace: requestTrace(request.id),
      name: "submit transaction",
      beganMs: submitMs,
      attributes: { asset: asset.name, txId },
      ...(refusal !== undefined && { error: refusal }),
    });
    if (refusal === undefined) await recordStep(database, claim, request, "submitted");
    beganMs = performance.now();
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
  const ending = await settled(work, request, { ...executed, beganMs }, final);
  if (ending === LATER) await warnWhenNotShown(database, work.logger, request);
  return ending;
};

/**
 * Refused, and the ledger's node does not know it from an earlier submission either. The node may have
 * forgotten it, the register has not. It is never submitted again, so if the register does not show it
 * once it has reached the node's present end, it was never executed.
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
  const resource = await keepOut(work.database.sql, request);
  if (resource !== undefined) {
    work.logger.warn(
      { requestId: request.id, asset: asset.name, txId: request.txId, purse: resource, refusal },
      `transfer agent: the ledger refused what ${resource} was to pay for; it pays for nothing until it ` +
        "has another version, or for half an hour",
    );
  }
  return failed("BROADCAST_SUBMIT_ERROR", `the ledger refused the transaction: ${refusal}`);
};

/** `final`: last place that was final before it was looked up; null where everything is. */
const settled = async (
  work: Processing,
  request: SignedRequest,
  executed: Executed & Looked,
  final: bigint | null,
): Promise<Ending | typeof LATER> => {
  const { database, claim, asset } = work;
  const { txId } = request;
  const { error, place } = executed;
  const foundMs = performance.now();
  const isFinal = (last: bigint | null) => last === null || (place !== null && place <= last);
  if (error !== null && isFinal(final)) {
    tellPlace(work, request, { ...executed, foundMs });
    return failed("BROADCAST_FAILED", `transaction ${txId} failed: ${error}`);
  }
  const where = place === null ? "" : ` at ${place}`;
  const words =
    error === null
      ? `executed${where}; waiting until the register shows it`
      : `failed${where}: ${error}; waiting until that is final`;
  await recordStep(database, claim, request, words);
  await releaseReservation(database, request);
  work.poke();
  if (isFinal(final)) {
    return (await shown(work, request, { ...executed, foundMs })) ?? LATER;
  }
  // A reorganisation may put it elsewhere or nowhere: it is looked up again before anything is said.
  const passed = await waitFor(work, async () => isFinal(await asset.register.finalPlace()));
  return passed ? await followTransaction(work, request, { again: true }) : LATER;
};

/** When a transaction began to be looked for, and when it was found: `performance.now()`. */
type Looked = { readonly beganMs: number };
type Found = { readonly foundMs: number };

/** Tells in which checkpoint, or block, a transaction was executed: once, when the request ends by it. */
const tellPlace = (
  { tracing, asset }: Processing,
  { id, txId }: SignedRequest,
  { place, error, beganMs, foundMs }: Pick<Executed, "place" | "error"> & Looked & Found,
): void =>
  tracing.tell({
    trace: requestTrace(id),
    name: "execute transaction",
    beganMs,
    endedMs: foundMs,
    attributes: { asset: asset.name, txId, ...(place !== null && { checkpoint: `${place}` }) },
    ...(error !== null && { error }),
  });

/** Waits until the register shows what the transaction did; with `now`, only for that to be final. */
const shown = async (
  work: Processing,
  request: SignedRequest,
  executed: Pick<Executed, "place" | "index"> & Partial<Looked & Found>,
  now = false,
): Promise<Ending | typeof LATER | null> => {
  const { database, claim, asset } = work;
  const { wallet, groupId, txId } = request;
  const { place, index, beganMs, foundMs } = executed;
  const by = { txId, place, ...(index !== undefined && { index }) };
  let found: Confirmation | typeof NOT_FINAL | null = null;
  await waitFor(work, async () => {
    found = await asset.register.confirmed(wallet, groupId, by);
    return found === null ? now : found !== NOT_FINAL;
  });
  if (found === null || found === NOT_FINAL) return found === null ? null : LATER;
  await recordStep(database, claim, request, "confirmed by the register");
  if (beganMs !== undefined && foundMs !== undefined) {
    tellPlace(work, request, { place, error: null, beganMs, foundMs });
    work.tracing.tell({
      trace: requestTrace(request.id),
      name: "register shows checkpoint",
      beganMs: foundMs,
      attributes: { asset: asset.name, ...(place !== null && { checkpoint: `${place}` }) },
    });
  }
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
