/** Vesting grants, with exact numbers. */
import { useQuery } from "@tanstack/react-query";
import { ask } from "../data/ask.ts";
import { graph, type ResultOf } from "../data/graph.ts";
import { NOW, PAST } from "../data/queries.ts";
import { useSession } from "../data/session.ts";
import type { Grant } from "./unlocking.ts";

export const grantsPage = graph(`query GrantsPage(
  $coinType: String!, $owner: String, $atTimestamp: String, $after: String
) {
  tokenTimelocks(
    coinType: $coinType, owner: $owner, atTimestamp: $atTimestamp, after: $after, limit: 1000
  ) {
    objectId owner funder totalAmount leftBalance tokensTransferred commencementTimestampMs
    delayUntilFirstReleaseMs periodBetweenReleasesMs releaseCount initialReleasePortionBps
  }
}`);

type Listed = NonNullable<ResultOf<typeof grantsPage>["tokenTimelocks"]>[number];

export const grantOf = (listed: Listed): Grant => ({
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

/** Grants of these wallets, up to a thousand of each, now or at a time (unix seconds). */
export const useGrants = (
  coinType: string,
  addresses: readonly string[],
  at: string | undefined,
) => {
  const { key } = useSession();
  return useQuery({
    queryKey: [at === undefined ? NOW : PAST, "grants", coinType, addresses, at],
    queryFn: async ({ signal }) => {
      const pages = await Promise.all(
        addresses.map((owner) =>
          ask(
            grantsPage,
            { coinType, owner, atTimestamp: at ?? null, after: null },
            { key, signal },
          ),
        ),
      );
      return pages.flatMap(({ tokenTimelocks }) => (tokenTimelocks ?? []).map(grantOf));
    },
    staleTime: at === undefined ? 0 : Number.POSITIVE_INFINITY,
  });
};
