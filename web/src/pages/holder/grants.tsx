/** A holder's vesting grants: unlocked, claimed and locked amounts, and the next unlock. */
import { useMemo } from "react";
import { Answered, AsOf } from "../../blocks/answered.tsx";
import { Badge, Card } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { amounts } from "../../charts/measure.ts";
import { OverTime } from "../../charts/over-time.tsx";
import type { Token } from "../../data/tokens.ts";
import {
  claimableAt,
  type Grant,
  nextRelease,
  reachable,
  releaseTimes,
  unlockedAt,
  useGrants,
} from "../../register/grants.ts";
import { leastOf } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { dayText } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

export const Grants = ({
  token,
  addresses,
  at,
  timeMs,
}: {
  readonly token: Token;
  readonly addresses: readonly string[];
  /** Unix seconds; now without it. */
  readonly at: string | undefined;
  readonly timeMs: number;
}) => {
  const query = useGrants(token.coinType, addresses, at);
  const { data } = query;
  const now = BigInt(Math.floor(timeMs));
  const { decimals } = token;
  const grants = useMemo(() => data ?? [], [data]);
  if (data === undefined && query.error !== null) {
    return (
      <Answered of={query} what="The grants" card>
        {() => null}
      </Answered>
    );
  }
  if (grants.length === 0) return null;
  const next = grants
    .map((grant) => nextRelease(grant, now))
    .filter((release) => release !== null)
    .sort((a, b) => (a.atMs < b.atMs ? -1 : 1))[0];
  return (
    <>
      <Unlocking token={token} grants={grants} now={now} />
      <Card
        flush
        title={grants.length === 1 ? "One vesting grant" : `${grants.length} vesting grants`}
        about={
          next === undefined ? (
            "No further unlocks"
          ) : (
            <>
              Next: <Amount units={next.amount} decimals={decimals} /> on{" "}
              <Moment at={Number(next.atMs)} />
            </>
          )
        }
      >
        <AsOf of={query} />
        <DataTable
          label="Vesting grants"
          rows={grants}
          keyOf={({ objectId }) => objectId}
          columns={[
            {
              header: "Grant",
              cell: ({ objectId }) => <LongId text={objectId} what="object id" explorer="object" />,
            },
            amountColumn("Granted", decimals, ({ totalAmount }: Grant) => totalAmount),
            amountColumn("Claimed", decimals, ({ tokensTransferred }: Grant) => tokensTransferred, {
              wideOnly: true,
            }),
            amountColumn("Claimable", decimals, (grant: Grant) => claimableAt(grant, now), {
              wideOnly: true,
            }),
            amountColumn(
              "Locked",
              decimals,
              (grant: Grant) => grant.leftBalance - claimableAt(grant, now),
            ),
            {
              header: "Next unlock",
              wideOnly: true,
              cell: (grant) => {
                const release = nextRelease(grant, now);
                return release === null ? <Badge>none</Badge> : dayText(Number(release.atMs));
              },
            },
          ]}
        />
      </Card>
    </>
  );
};

/** A step for each release of any grant, and a line at the time in view. */
const Unlocking = ({
  token,
  grants,
  now,
}: {
  readonly token: Token;
  readonly grants: readonly Grant[];
  readonly now: bigint;
}) => {
  const { times, lines, total } = useMemo(() => {
    const releases = grants.flatMap((grant) => releaseTimes(grant));
    const atMs = [...new Set([...releases, now])].sort((a, b) => (a < b ? -1 : 1));
    const unlocked = (at: bigint) =>
      grants.reduce((sum, grant) => sum + leastOf(unlockedAt(grant, at), reachable(grant)), 0n);
    return {
      times: atMs.map(Number),
      lines: [{ name: "Unlocked", colour: "good", values: atMs.map(unlocked) }] as const,
      total: grants.reduce((sum, grant) => sum + reachable(grant), 0n),
    };
  }, [grants, now]);
  const measure = useMemo(() => amounts(token), [token]);
  return (
    <OverTime
      title="Unlocked over time"
      about={`Of all grants, past and future: ${measure.text(total)}`}
      caption="Unlocked tokens of all grants of this holder"
      kind="steps"
      times={times}
      lines={lines}
      measure={measure}
      markMs={Number(now)}
      height={200}
    />
  );
};
