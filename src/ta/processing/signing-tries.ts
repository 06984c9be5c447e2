/**
 * How often a signer was asked for a request's transaction. The count stands with the request, so
 * that a signer that hangs comes to an end whatever becomes of turns and processes.
 */
import type { Database } from "../../database/connect.ts";
import type { LaneClaim } from "../../lanes/lanes.ts";
import { investorLanes } from "../requests/lanes.ts";
import type { OpenRequest } from "./open-request.ts";

/** A signer that does not answer is asked this often; nothing has left the house then. */
export const SIGNING_TRIES = 4;

/**
 * Counts a try before it is made: a process that dies in it has made it.
 * @returns the try's number, from 1; beyond SIGNING_TRIES none is left
 * @throws LaneLostError
 */
export const countSigningTry = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  { id }: Pick<OpenRequest, "id">,
): Promise<number> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    const [row] = await sql<{ signing_tries: number }[]>`
      update ta_requests set signing_tries = signing_tries + 1
      where id = ${id} returning signing_tries`;
    if (row === undefined) throw new Error(`request ${id} is gone`);
    return row.signing_tries;
  });

/** A try that we ourselves interrupted says nothing about the signer. @throws LaneLostError */
export const uncountSigningTry = (
  database: Pick<Database, "transaction">,
  claim: LaneClaim,
  { id }: Pick<OpenRequest, "id">,
): Promise<void> =>
  investorLanes.underClaim(database, claim, async ({ sql }) => {
    await sql`
      update ta_requests set signing_tries = signing_tries - 1
      where id = ${id} and signing_tries > 0`;
  });
