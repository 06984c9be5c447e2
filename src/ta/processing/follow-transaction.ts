/**
 * From a stored transaction to the request's end. Submits the stored bytes again only if the ledger
 * does not know them and has not refused them.
 */
import { requestTrace } from "../../telemetry/tracing.ts";
import { type Executed, SubmissionRefusedError } from "../ledgers/relay.ts";
import { investorLanes } from "../requests/lanes.ts";
import { recordRefusal, recordStep } from "./record.ts";
import { type Confirmation, NOT_FINAL } from "./register.ts";
import {
  type Ending,
  failed,
  isUpToDate,
  LATER,
  type SignedRequest,
  type StepContext,
  succeeded,
} from "./request.ts";
import { keepOut, releaseReservation } from "./reservations.ts";
import { CHECK_ONCE, waitFor, warnWhenNotShown, warnWhenOverdue } from "./waiting.ts";

/**
 * @param visit `resumed` when it was found stored: it may have been submitted, and what an earlier
 *   turn has waited for is only checked
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and database errors
 */
export const followTransaction = async (
  context: StepContext,
  request: SignedRequest,
  visit: "first" | "resumed",
): Promise<Ending | typeof LATER> =>
  visit === "resumed"
    ? await follow({ ...context, polling: CHECK_ONCE }, request, true)
    : await follow(context, request, false);

const follow = async (
  work: StepContext,
  request: SignedRequest,
  again: boolean,
): Promise<Ending | typeof LATER> => {
  const { database, claim, asset, signal } = work;
  const { relay, register } = asset;
  const { txId } = request;
  let beganMs = performance.now();
  // Read before the look-up: what is found at this block or below is final.
  let final = await register.finalPlace();
  let executed = await relay.lookUp(txId, signal);
  if (executed === null) {
    if (again) await warnWhenOverdue(work, request);
    if (request.refusal !== null) return await afterRefusal(work, request, request.refusal);
    await investorLanes.renew(database.sql, claim);
    const refusal = await submit(work, request, again);
    if (refusal === undefined) await recordStep(work, request, "submitted");
    beganMs = performance.now();
    const isKnown = await waitFor(work, async () => {
      final = await register.finalPlace();
      executed = await relay.lookUp(txId, signal);
      return executed !== null || refusal !== undefined;
    });
    if (!isKnown) return LATER;
    if (refusal !== undefined && executed === null) {
      await recordRefusal(work, request, refusal);
      return await afterRefusal(work, request, refusal);
    }
  }
  if (executed === null) return LATER;
  const ending = await settled(work, request, { ...executed, beganMs }, final);
  if (ending === LATER) await warnWhenNotShown(work, request);
  return ending;
};

/** Submits the transaction; returns why the node refused it, undefined when it took it. */
const submit = async (
  { asset, signal, tracing }: StepContext,
  { id, txId, signed }: SignedRequest,
  again: boolean,
): Promise<string | undefined> => {
  const beganMs = performance.now();
  let refusal: string | undefined;
  try {
    await asset.relay.submit(signed, signal, again);
  } catch (error) {
    if (!(error instanceof SubmissionRefusedError)) throw error;
    refusal = error.message;
  }
  tracing.report({
    trace: requestTrace(id),
    name: "submit transaction",
    beganMs,
    attributes: { asset: asset.name, txId },
    ...(refusal !== undefined && { error: refusal }),
  });
  return refusal;
};

/**
 * The node may have forgotten an earlier submission, the register has not. As the transaction is never
 * submitted again, it was not executed if the register does not show it at the node's present tip.
 */
const afterRefusal = async (
  work: StepContext,
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
      { requestId: request.id, asset: asset.name, txId: request.txId, resource, refusal },
      `transfer agent: the ledger refused a transaction that ${resource} would have paid for; it is not used ` +
        "until it has another version, or for half an hour",
    );
  }
  return failed("BROADCAST_SUBMIT_ERROR", `the ledger refused the transaction: ${refusal}`);
};

/** `final`: last final place before the look-up; null where everything is final. */
const settled = async (
  work: StepContext,
  request: SignedRequest,
  executed: Executed & Pick<Times, "beganMs">,
  final: bigint | null,
): Promise<Ending | typeof LATER> => {
  const { database, asset } = work;
  const { txId } = request;
  const { error, place } = executed;
  const foundMs = performance.now();
  const isFinal = (last: bigint | null) => last === null || (place !== null && place <= last);
  if (error !== null && isFinal(final)) {
    traceExecution(work, request, { ...executed, foundMs });
    return failed("BROADCAST_FAILED", `transaction ${txId} failed: ${error}`);
  }
  const where = place === null ? "" : ` at ${place}`;
  const step =
    error === null
      ? `executed${where}; waiting until the register shows it`
      : `failed${where}: ${error}; waiting until that is final`;
  await recordStep(work, request, step);
  await releaseReservation(database, request);
  work.poke();
  if (isFinal(final)) {
    return (await shown(work, request, { ...executed, foundMs })) ?? LATER;
  }
  // A reorganisation may have moved or removed it: look it up again before the result is given.
  const passed = await waitFor(work, async () => isFinal(await asset.register.finalPlace()));
  return passed ? await follow(work, request, true) : LATER;
};

/** When the search for a transaction began, and when it was found: `performance.now()`. */
type Times = { readonly beganMs: number; readonly foundMs: number };

/** Traces the execution: once, when the request ends by it. */
const traceExecution = (
  { tracing, asset }: StepContext,
  { id, txId }: SignedRequest,
  { place, error, beganMs, foundMs }: Pick<Executed, "place" | "error"> & Times,
): void =>
  tracing.report({
    trace: requestTrace(id),
    name: "execute transaction",
    beganMs,
    endedMs: foundMs,
    attributes: { asset: asset.name, txId, ...(place !== null && { checkpoint: `${place}` }) },
    ...(error !== null && { error }),
  });

/** Waits until the register shows the effect of the transaction; with `now`, only until that is final. */
const shown = async (
  work: StepContext,
  request: SignedRequest,
  executed: Pick<Executed, "place" | "index"> & Partial<Times>,
  now = false,
): Promise<Ending | typeof LATER | null> => {
  const { asset } = work;
  const { wallet, groupId, txId } = request;
  const { place, index, beganMs, foundMs } = executed;
  const by = { txId, place, ...(index !== undefined && { index }) };
  let found: Confirmation | typeof NOT_FINAL | null = null;
  await waitFor(work, async () => {
    found = await asset.register.confirmed(wallet, groupId, by);
    return found === null ? now : found !== NOT_FINAL;
  });
  if (found === null || found === NOT_FINAL) return found === null ? null : LATER;
  await recordStep(work, request, "confirmed by the register");
  if (beganMs !== undefined && foundMs !== undefined) {
    traceExecution(work, request, { place, error: null, beganMs, foundMs });
    work.tracing.report({
      trace: requestTrace(request.id),
      name: "register shows checkpoint",
      beganMs: foundMs,
      attributes: { asset: asset.name, ...(place !== null && { checkpoint: `${place}` }) },
    });
  }
  return succeeded(confirmedText(found, request));
};

/** The transaction's effect; the wallet may have moved on since. */
const confirmedText = (
  found: Confirmation,
  { txId, groupId }: Pick<SignedRequest, "txId" | "groupId">,
): string =>
  found === "put by it"
    ? `the wallet was put into group ${groupId} by transaction ${txId}`
    : `transaction ${txId} found the wallet in group ${groupId}: another one had put it there`;
