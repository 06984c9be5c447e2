/**
 * Vesting grants, and what their schedules unlock when. Rounded as the contract rounds: an initial part with the first
 * release, the rest in equal steps, each rounded down. A test compares it with the service.
 */
import { ask, graph, type ResultOf } from "../data/ask.ts";
import { momentVariables } from "../data/moment.ts";
import { NOW, PAST, useRead } from "../data/queries.ts";
import { leastOf } from "../shown/amount.ts";

export const grantsPage = graph(`query GrantsPage(
  $coinType: String!, $owner: String, $atCheckpoint: String, $atTimestamp: String, $after: String
) {
  tokenTimelocks(
    coinType: $coinType, owner: $owner, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp
    after: $after, limit: 1000
  ) {
    objectId owner funder totalAmount leftBalance tokensTransferred commencementTimestampMs
    delayUntilFirstReleaseMs periodBetweenReleasesMs releaseCount initialReleasePortionBps
  }
}`);

type Listed = NonNullable<ResultOf<typeof grantsPage>["tokenTimelocks"]>[number];

/** A grant with exact numbers; times in milliseconds, `tokensTransferred` are the tokens claimed so far. */
export const grantOf = (listed: Listed) => ({
  objectId: listed.objectId,
  owner: listed.owner,
  funder: listed.funder,
  totalAmount: BigInt(listed.totalAmount),
  leftBalance: BigInt(listed.leftBalance),
  tokensTransferred: BigInt(listed.tokensTransferred),
  commencementMs: BigInt(listed.commencementTimestampMs),
  delayMs: BigInt(listed.delayUntilFirstReleaseMs),
  periodMs: BigInt(listed.periodBetweenReleasesMs),
  releaseCount: BigInt(listed.releaseCount),
  initialBps: BigInt(listed.initialReleasePortionBps),
});

export type Grant = Readonly<ReturnType<typeof grantOf>>;

/** Grants of these wallets, up to a thousand of each, now or at a moment. */
export const useGrants = (coinType: string, addresses: readonly string[], at: string | undefined) =>
  useRead(
    at === undefined ? NOW : PAST,
    ["grants", coinType, addresses, at],
    async (asking): Promise<readonly Grant[]> => {
      const pages = await Promise.all(
        addresses.map((owner) =>
          ask(grantsPage, { coinType, owner, ...momentVariables(at), after: null }, asking),
        ),
      );
      return pages.flatMap(({ tokenTimelocks }) => (tokenTimelocks ?? []).map(grantOf));
    },
  );

const WHOLE_BPS = 10_000n;

/** Releases after the first one. With a period of 0 all of them come with the first. */
const stepsOf = ({ releaseCount, periodMs }: Grant): bigint =>
  releaseCount <= 1n || periodMs === 0n ? 0n : releaseCount - 1n;

/** The amount unlocked after the first release and `step` more. */
const unlockedAfter = (grant: Grant, step: bigint): bigint => {
  const { totalAmount, initialBps } = grant;
  const steps = stepsOf(grant);
  if (step >= steps) return totalAmount;
  const initial = (totalAmount * initialBps) / WHOLE_BPS;
  return initial + ((totalAmount - initial) * step) / steps;
};

/** The amount unlocked by a time, claimed or not. */
export const unlockedAt = (grant: Grant, timeMs: bigint): bigint => {
  const since = timeMs - grant.commencementMs - grant.delayMs;
  if (since < 0n) return 0n;
  return unlockedAfter(grant, grant.periodMs === 0n ? 0n : since / grant.periodMs);
};

/** The amount that can be claimed at a time: never more than the grant still holds. */
export const claimableAt = (grant: Grant, timeMs: bigint): bigint => {
  const due = unlockedAt(grant, timeMs) - grant.tokensTransferred;
  if (due <= 0n) return 0n;
  return leastOf(due, grant.leftBalance);
};

/** The amount that is or will be unlocked: all of it, unless the grant was cancelled. */
export const reachable = ({ tokensTransferred, leftBalance, totalAmount }: Grant): bigint =>
  leastOf(tokensTransferred + leftBalance, totalAmount);

/** One release: when, and how much more can be claimed with it. */
export type Release = { readonly atMs: bigint; readonly amount: bigint };

const stepMs = (grant: Grant, step: bigint): bigint =>
  grant.commencementMs + grant.delayMs + step * grant.periodMs;

/** The first release after a time that makes more claimable; null without one, as for a cancelled grant. */
export const nextRelease = (grant: Grant, timeMs: bigint): Release | null => {
  const now = claimableAt(grant, timeMs);
  const steps = stepsOf(grant);
  if (claimableAt(grant, stepMs(grant, steps)) <= now) return null;
  // Binary search: there can be very many steps.
  let [from, to] = [0n, steps];
  while (from < to) {
    const middle = (from + to) / 2n;
    if (claimableAt(grant, stepMs(grant, middle)) > now) to = middle;
    else from = middle + 1n;
  }
  const atMs = stepMs(grant, from);
  return { atMs, amount: claimableAt(grant, atMs) - now };
};

/** Times of the releases, first and last included; at most about `most`, spread evenly. */
export const releaseTimes = (grant: Grant, most = 120): readonly bigint[] => {
  const steps = stepsOf(grant);
  const every = steps / BigInt(most) + 1n;
  const found: bigint[] = [];
  for (let step = 0n; step < steps; step += every) found.push(stepMs(grant, step));
  found.push(stepMs(grant, steps));
  return found;
};

/** What becomes claimable of these grants after one time, until another; milliseconds. */
export const unlockedBetween = (grants: readonly Grant[], from: bigint, to: bigint): bigint =>
  grants.reduce((sum, grant) => sum + claimableAt(grant, to) - claimableAt(grant, from), 0n);
