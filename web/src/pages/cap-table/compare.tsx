/** Two dates of one token: new, exited, increased and decreased holders, adding up to what was issued between. */
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, type Tone } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { WhenInAddress } from "../../blocks/when-in-address.tsx";
import { Button } from "../../controls/button.tsx";
import { type MomentSearch, useTokenSearch } from "../../data/here.ts";
import type { Token } from "../../data/tokens.ts";
import { type ChangeKind, compareRegisters, type Difference } from "../../register/compare.ts";
import type { Register } from "../../register/register.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { useRegister } from "../../register/use-register.ts";
import { countText } from "../../shown/amount.ts";
import { shortened } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { yesterdaysClose } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const KINDS: readonly {
  readonly kind: ChangeKind;
  readonly label: string;
  readonly tone: Tone;
}[] = [
  { kind: "came", label: "New", tone: "good" },
  { kind: "left", label: "Exited", tone: "bad" },
  { kind: "grew", label: "Increased", tone: "accent" },
  { kind: "fell", label: "Decreased", tone: "warn" },
];

export const Compare = ({
  register,
  token,
}: {
  readonly register: Register;
  readonly token: Token;
}) => {
  const search = useSearch({ from: "/cap-table" });
  const { from, to } = useTokenTime(token.coinType);
  // Yesterday's close, or the beginning of a token that is younger.
  const usual = Math.max(yesterdaysClose(to * 1_000), from ?? 0);
  const against = search.with ?? String(usual);
  const other = useRegister(token.coinType, against, { enabled: from !== undefined });
  return (
    <>
      <Card>
        <WhenInAddress
          name="with"
          label="Compared with"
          at={Number(against)}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
        />
      </Card>
      <Answered of={other} what="The other date" card>
        {(one) => <Differences one={one} two={register} oneAt={against} twoAt={search.at} />}
      </Answered>
    </>
  );
};

const EMPTY = { rows: [], issued: 0n, timeMs: 0 };

const Differences = ({
  one,
  two,
  oneAt,
  twoAt,
}: {
  readonly one: Register | null;
  readonly two: Register;
  /** Unix seconds that were asked for; now without them. */
  readonly oneAt: string;
  readonly twoAt: string | undefined;
}) => {
  const [only, setOnly] = useState<ChangeKind | null>(null);
  const kept = useTokenSearch();
  const inOrder = (one?.timeMs ?? 0) <= two.timeMs;
  const [earlier, later] = inOrder ? [one ?? EMPTY, two] : [two, one ?? EMPTY];
  const [earlierAt, laterAt] = inOrder ? [oneAt, twoAt] : [twoAt, oneAt];
  const comparison = useMemo(() => compareRegisters(earlier, later), [earlier, later]);
  const rows = useMemo(
    () => comparison.differences.filter(({ kind }) => only === null || kind === only),
    [comparison, only],
  );
  const columns = useMemo(() => {
    const at = (moment: string | undefined) =>
      moment === undefined ? kept : { ...kept, at: moment };
    // Who left is there to be seen at the earlier of the two alone.
    return columnsOf(two.decimals, (kind) => at(kind === "left" ? earlierAt : laterAt));
  }, [two.decimals, kept, earlierAt, laterAt]);
  return (
    <>
      <Figures wide={5}>
        {KINDS.map(({ kind, label }) => (
          <Figure
            key={kind}
            label={label}
            value={countText(comparison.sums[kind].count)}
            about={<Amount units={comparison.sums[kind].change} decimals={two.decimals} signed />}
          />
        ))}
        <Figure
          label="Issued between"
          value={<Amount units={later.issued - earlier.issued} decimals={two.decimals} signed />}
          about={`${countText(comparison.unchanged)} unchanged`}
        />
      </Figures>
      <Card
        flush
        title={`${countText(rows.length)} differences`}
        about={
          <>
            <Moment ms={earlier.timeMs} /> to <Moment ms={later.timeMs} />
          </>
        }
        actions={
          <div className="flex flex-wrap gap-2">
            {KINDS.map(({ kind, label }) => (
              <Button
                key={kind}
                look={only === kind ? "strong" : "plain"}
                aria-pressed={only === kind}
                onClick={() => setOnly(only === kind ? null : kind)}
              >
                {label}
              </Button>
            ))}
          </div>
        }
      >
        <DataTable
          label="Differences"
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          empty={
            <Empty title="No balance differs">
              Whoever held at the one time holds as much at the other.
            </Empty>
          }
        />
      </Card>
    </>
  );
};

const KindBadge = ({ kind }: { readonly kind: ChangeKind }) => {
  const one = KINDS.find((known) => known.kind === kind);
  return <Badge tone={one?.tone ?? "plain"}>{(one?.label ?? kind).toLowerCase()}</Badge>;
};

const columnsOf = (
  decimals: number | null,
  searchOf: (kind: ChangeKind) => MomentSearch,
): readonly Column<Difference>[] => [
  {
    id: "holder",
    header: "Holder",
    cell: ({ id, holderId, kind }) => (
      <span className="inline-flex items-center gap-2">
        <Link
          to="/holder/$holder"
          params={{ holder: id }}
          search={searchOf(kind)}
          className="font-medium hover:text-accent hover:underline"
        >
          {holderId === null ? shortened(id) : `Holder ${holderId}`}
        </Link>
        <KindBadge kind={kind} />
      </span>
    ),
  },
  amountColumn(decimals, ({ before }) => before, {
    id: "before",
    header: "Before",
    wideOnly: true,
    sorted: true,
  }),
  amountColumn(decimals, ({ after }) => after, {
    id: "after",
    header: "After",
    wideOnly: true,
    sorted: true,
  }),
  amountColumn(decimals, ({ change }) => change, {
    id: "change",
    header: "Change",
    sorted: true,
    signed: true,
  }),
];
