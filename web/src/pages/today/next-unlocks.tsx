/** What vesting grants unlock next. */
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty } from "../../blocks/blocks.tsx";
import { useTokenSearch } from "../../data/here.ts";
import { useGraph } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { grantOf, grantsPage } from "../../register/grants.ts";
import { nextRelease } from "../../register/unlocking.ts";
import { shortened } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { Ago, Moment, useNow } from "../../shown/shown.tsx";

const SHOWN = 6;

/** Grants are read by commencement, the first thousand. */
const READ = 1_000;

export const NextUnlocks = ({ token }: { readonly token: Token }) => {
  const kept = useTokenSearch();
  const { coinType, decimals } = token;
  const asked = useGraph(grantsPage, { coinType }, { long: true });
  const now = useNow(5_000);
  const grants = asked.data?.tokenTimelocks;
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
    <Card
      flush
      title="Next unlocks"
      about={
        grants?.length === READ
          ? `Of the ${READ} grants that began first`
          : "Tokens of grants that can be claimed then"
      }
    >
      <Answered of={asked} what="The grants">
        {() =>
          next.length === 0 ? (
            <Empty title="No grant unlocks anything more by time" />
          ) : (
            <ul className="divide-y divide-line border-t border-line text-sm">
              {next.map(({ grant, release }) => (
                <li
                  key={grant.objectId}
                  className="flex items-center justify-between gap-3 px-4 py-2"
                >
                  <span className="min-w-0">
                    <Moment ms={Number(release.atMs)} />
                    <Link
                      to="/holder/$holder"
                      params={{ holder: grant.owner }}
                      search={kept}
                      className="block font-mono text-xs text-muted hover:underline"
                    >
                      {shortened(grant.owner)}
                    </Link>
                  </span>
                  <span className="min-w-0 text-right">
                    <Amount units={release.amount} decimals={decimals} />
                    <span className="block text-xs text-muted">
                      <Ago ms={Number(release.atMs)} />
                    </span>
                  </span>
                </li>
              ))}
            </ul>
          )
        }
      </Answered>
    </Card>
  );
};
