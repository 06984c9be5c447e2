/** What grants release, by the service's own rule. */
import { z } from "zod";
import { claimableAt } from "../../../src/projections/unlocking.ts";
import { asked, type Desk } from "./desk.ts";

const timelocks = z.object({
  tokenTimelocks: z.array(
    z.object({
      owner: z.string(),
      funder: z.string(),
      totalAmount: z.string(),
      leftBalance: z.string(),
      tokensTransferred: z.string(),
      commencementTimestampMs: z.string(),
      delayUntilFirstReleaseMs: z.string(),
      periodBetweenReleasesMs: z.string(),
      releaseCount: z.string(),
      initialReleasePortionBps: z.string(),
    }),
  ),
});

/** Smallest units that become claimable between two times, milliseconds. */
export const vestingBetween = async (
  desk: Desk,
  coinType: string,
): Promise<(fromMs: number, toMs: number) => bigint> => {
  const grants = await grantsOf(desk, coinType);
  const sum = (ms: number) =>
    grants.reduce((all, grant) => all + claimableAt(grant, BigInt(ms)), 0n);
  return (fromMs, toMs) => sum(toMs) - sum(fromMs);
};

const grantsOf = async (desk: Desk, coinType: string) => {
  const query = `{ tokenTimelocks(coinType: "${coinType}", limit: 1000) {
    owner funder totalAmount leftBalance tokensTransferred commencementTimestampMs delayUntilFirstReleaseMs
    periodBetweenReleasesMs releaseCount initialReleasePortionBps } }`;
  return (await asked(desk, query, timelocks)).tokenTimelocks.map((grant) => ({
    owner: grant.owner,
    funder: grant.funder,
    totalAmount: BigInt(grant.totalAmount),
    leftBalance: BigInt(grant.leftBalance),
    tokensTransferred: BigInt(grant.tokensTransferred),
    commencementTimestampMs: BigInt(grant.commencementTimestampMs),
    delayUntilFirstReleaseMs: BigInt(grant.delayUntilFirstReleaseMs),
    periodBetweenReleasesMs: BigInt(grant.periodBetweenReleasesMs),
    releaseCount: BigInt(grant.releaseCount),
    initialReleasePortionBps: BigInt(grant.initialReleasePortionBps),
    releaseScheduleId: 0n,
  }));
};
