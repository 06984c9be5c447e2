/** Two dates of one token: who came, who left, who grew, who fell, adding up to what was issued between. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Badge, Card, Empty, Failed, Figure, Loading, type Tone } from "../../blocks/blocks.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { Button } from "../../controls/button.tsx";
import { When } from "../../controls/when.tsx";
import { type MomentSearch, useTokenSearch, without } from "../../data/here.ts";
import type { Token } from "../../data/tokens.ts";
import { type ChangeKind, compareRegisters, type Difference } from "../../register/compare.ts";
import type { Register } from "../../register/register.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { useRegister } from "../../register/use-register.ts";
import { countText } from "../../shown/amount.ts";
import { shortened } from "../../shown/copied.tsx";
import { yesterdaysClose } from "../../shown/moment.ts";
import { Amount, Moment } from "../../shown/shown.tsx";

const KINDS: readonly {
  readonly kind: ChangeKind;
  readonly label: string;
  readonly tone: Tone;
}[] = [
  { kind: "came", label: "Came", tone: "good" },
  { kind: "left", label: "Left", tone: "bad" },
  { kind: "grew", label: "Grew", tone: "accent" },
  { kind: "fell", label: "Fell", tone: "warn" },
];

export const Compare = ({
  register,
  token,
}: {
  readonly register: Register;
  readonly token: Token;
}) => {
  const search = useSearch({ from: "/cap-table" });
  const navigate = useNavigate({ from: "/cap-table" });
  const { from, to } = useTokenTime(token.coinType);
  // Yesterday's close, or the beginning of a token that is younger.
  const usual = Math.max(yesterdaysClose(to * 1_000), from ?? 0);
  const against = search.with ?? String(usual);
  const other = useRegister(token.coinType, against, { enabled: from !== undefined });
  return (
    <>
      <Card>
        <When
          label="Compared with"
          at={Number(against)}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
          onChange={(chosen) =>
            void navigate({
              search:
                chosen === undefined
                  ? without(search, "with")
                  : { ...search, with: String(chosen) },
            })
          }
        />
      </Card>
      {other.error !== null ? (
        <Card>
          <Failed error={other.error} what="The other date" onRetry={() => void other.refetch()} />
        </Card>
      ) : other.data === undefined ? (
        <Card>
          <Loading />
        </Card>
      ) : (
        <Differences one={other.data} two={register} oneAt={against} twoAt={search.at} />
      )}
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
      <div className="grid grid-cols-2 gap-3 lg:grid-cols-5">
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
          about={`${countText(comparison.unchanged)} stayed as they were`}
        />
      </div>
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
        <Badge tone={KINDS.find((one) => one.kind === kind)?.tone ?? "plain"}>{kind}</Badge>
      </span>
    ),
  },
  {
    id: "before",
    header: "Before",
    align: "right",
    wideOnly: true,
    order: ({ before }) => before,
    cell: ({ before }) => <Amount units={before} decimals={decimals} fixed />,
  },
  {
    id: "after",
    header: "After",
    align: "right",
    wideOnly: true,
    order: ({ after }) => after,
    cell: ({ after }) => <Amount units={after} decimals={decimals} fixed />,
  },
  {
    id: "change",
    header: "Change",
    align: "right",
    order: ({ change }) => change,
    cell: ({ change }) => <Amount units={change} decimals={decimals} fixed signed />,
  },
];
