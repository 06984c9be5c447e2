/** Makes the one transaction of a request: reserve a resource, ask the signer, store the result. */
import { requestTrace } from "../../telemetry/tracing.ts";
import { pause } from "../../waiting/backoff.ts";
import type { SignedOrder, UnsignedOrder } from "../ledgers/relay.ts";
import { SigningError, SigningNotAllowedError } from "../ledgers/signer.ts";
import { investorLanes } from "../requests/lanes.ts";
import { recordSigned } from "./record.ts";
import {
  type Claimed,
  type Ending,
  failed,
  LATER,
  NONE_FREE,
  type OpenRequest,
  type SignedRequest,
  type StepContext,
} from "./request.ts";
import { releaseIdleReservations, reserve } from "./reservations.ts";

/** Nothing is submitted yet, so a signer without an answer may end the request. */
const SIGNING_TRIES = 4;

/** After the first try; proportionally longer after each of the others. */
const SIGNING_PAUSE_MS = 500;

/**
 * Signs and stores the transaction that puts the wallet into its group.
 * @param holderId the holder to register the wallet under first; null when it is registered
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and database errors
 */
export const signTransaction = async (
  work: StepContext,
  request: OpenRequest,
  holderId: bigint | null,
): Promise<SignedRequest | Ending | typeof LATER | typeof NONE_FREE> => {
  const { asset, signal, turnOver } = work;
  const { relay, whitelistGroupId: groupId } = asset;
  const resources = await relay.resources(signal);
  const resource = await reserve(work, request, relay.payer, resources);
  if (resource === undefined) {
    // The requests that hold them may be stuck.
    await releaseIdleReservations(work.database, relay, resources, signal);
    return NONE_FREE;
  }
  const { id: requestId, wallet } = request;
  const order = { requestId, asset: asset.name, wallet, groupId, holderId };
  for (;;) {
    const beganMs = performance.now();
    const unsigned = await relay.prepare(order, resource, signal);
    const number = await countTry(work, request);
    if (number > SIGNING_TRIES) {
      return failed("SIGNING_ERROR", `the signer did not sign in ${SIGNING_TRIES} tries`);
    }
    const result = await trySigning(work, request, unsigned);
    work.tracing.report({
      trace: requestTrace(request.id),
      name: "sign transaction",
      beganMs,
      attributes: { asset: asset.name, try: number },
      ...(result instanceof Error && { error: result }),
    });
    if (!(result instanceof Error)) {
      const stored = { ...result, groupId, resource };
      await recordSigned(work, request, stored);
      return { ...request, ...stored };
    }
    if (result instanceof SigningNotAllowedError) {
      return failed("SIGNING_NOT_ALLOWED", result.message);
    }
    if (result.remedy === "stop" || number === SIGNING_TRIES) {
      return failed("SIGNING_ERROR", result.message);
    }
    await pause(SIGNING_PAUSE_MS * number, turnOver);
    if (turnOver.aborted) return LATER;
  }
};

/** The signed transaction or the signer's error; a try that a shutdown interrupts is not counted. */
const trySigning = async (
  work: StepContext,
  request: OpenRequest,
  unsigned: UnsignedOrder,
): Promise<SignedOrder | SigningNotAllowedError | SigningError> => {
  const { signal } = work;
  try {
    return await unsigned.sign(signal);
  } catch (error) {
    const isSigners = error instanceof SigningNotAllowedError || error instanceof SigningError;
    if (isSigners && error.remedy === "stop") return error;
    if (signal.aborted) await uncountTry(work, request);
    if (isSigners && !signal.aborted) return error;
    throw error;
  }
};

/**
 * Counts a try before it is made: a signer that hangs uses its tries up across turns and crashes.
 * @returns the try's number, from 1
 * @throws LaneLostError
 */
const countTry = ({ database, claim }: Claimed, { id }: OpenRequest): Promise<number> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    const [row] = await sql<{ signing_tries: number }[]>`
      update ta_requests set signing_tries = signing_tries + 1
      where id = ${id} returning signing_tries`;
    if (row === undefined) throw new Error(`request ${id} is gone`);
    return row.signing_tries;
  });

/** @throws LaneLostError */
const uncountTry = ({ database, claim }: Claimed, { id }: OpenRequest): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    await sql`
      update ta_requests set signing_tries = signing_tries - 1
      where id = ${id} and signing_tries > 0`;
  });
