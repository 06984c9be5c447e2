/** The next unlocks of vesting grants. */
import { useMemo } from "react";
import { Line } from "../../blocks/blocks.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { ROWS_PER_REQUEST, useGraph } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { grantOf, grantsPage, nextRelease, unlockedBetween } from "../../register/grants.ts";
import { Amount, Brief } from "../../shown/fitted.tsx";
import { Ago, Moment, useNow } from "../../shown/shown.tsx";

const SHOWN = 6;

const DAY_MS = 86_400_000n;
/** Days ahead. */
const AHEAD = [7, 30, 90] as const;

export const NextUnlocks = ({ token }: { readonly token: Token }) => {
  const { coinType, decimals, symbol } = token;
  const query = useGraph(grantsPage, { coinType }, { long: true });
  const now = useNow(5_000);
  const grants = query.data?.tokenTimelocks;
  const next = useMemo(
    () =>
      (grants ?? [])
        .map(grantOf)
        .flatMap((grant) => {
          const release = nextRelease(grant, BigInt(Math.floor(now)));
          return release === null ? [] : [{ grant, release }];
        })
        .sort((a, b) => (a.release.atMs < b.release.atMs ? -1 : 1))
        .slice(0, SHOWN),
    [grants, now],
  );
  const sums = useMemo(() => {
    const from = BigInt(Math.floor(now));
    const all = (grants ?? []).map(grantOf);
    return AHEAD.map((days) => ({
      days,
      amount: unlockedBetween(all, from, from + BigInt(days) * DAY_MS),
    }));
  }, [grants, now]);
  return (
    <LinesCard
      title="Next unlocks"
      about={
        grants?.length === ROWS_PER_REQUEST
          ? `Of the ${ROWS_PER_REQUEST} oldest grants`
          : "Tokens of grants that become claimable"
      }
      of={query}
      what="The grants"
      rows={() => next}
      empty={{ title: "No further unlocks" }}
      last={() => (
        <li className="grid grid-cols-1 gap-2 px-4 sm:grid-cols-3 py-2">
          {sums.map(({ days, amount }) => (
            <div key={days} className="min-w-0">
              <div className="text-xs text-muted">in {days} days</div>
              <Brief>
                <Amount units={amount} decimals={decimals} symbol={symbol} />
              </Brief>
            </div>
          ))}
        </li>
      )}
    >
      {({ grant, release }) => (
        <Line
          key={grant.objectId}
          name={<Moment at={Number(release.atMs)} />}
          about={<WalletName address={grant.owner} />}
        >
          <span className="min-w-0 text-right">
            <Amount units={release.amount} decimals={decimals} />
            <span className="block text-xs text-muted">
              <Ago at={Number(release.atMs)} />
            </span>
          </span>
        </Line>
      )}
    </LinesCard>
  );
};
