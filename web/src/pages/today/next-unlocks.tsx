/** The next unlocks of vesting grants. */
import { useMemo } from "react";
import { Line } from "../../blocks/blocks.tsx";
import { WalletId } from "../../blocks/columns.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { ROWS_PER_REQUEST, useGraph } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { grantOf, grantsPage, nextRelease } from "../../register/grants.ts";
import { Amount } from "../../shown/fitted.tsx";
import { Ago, Moment, useNow } from "../../shown/shown.tsx";

const SHOWN = 6;

export const NextUnlocks = ({ token }: { readonly token: Token }) => {
  const { coinType, decimals } = token;
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
    >
      {({ grant, release }) => (
        <Line
          key={grant.objectId}
          name={<Moment at={Number(release.atMs)} />}
          about={<WalletId address={grant.owner} to="holder" />}
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
