/** Two dates compared: new, exited, increased and decreased holders, which add up to what was issued between. */
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, type Tone } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { Chip } from "../../controls/controls.tsx";
import { When } from "../../controls/when.tsx";
import { keepTokenWith, useTokenTime } from "../../data/tokens.ts";
import { type ChangeKind, compareRegisters, type Difference } from "../../register/compare.ts";
import { type Register, rowLabel, useRegister } from "../../register/register.ts";
import { countText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { yesterdaysClose } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const KINDS: Readonly<Record<ChangeKind, { readonly label: string; readonly tone: Tone }>> = {
  new: { label: "New", tone: "good" },
  exited: { label: "Exited", tone: "bad" },
  increased: { label: "Increased", tone: "accent" },
  decreased: { label: "Decreased", tone: "warn" },
};

const ALL_KINDS = ["new", "exited", "increased", "decreased"] as const;

export const Compare = ({ register }: { readonly register: Register }) => {
  const search = useSearch({ from: "/cap-table" });
  const { coinType } = register;
  const { from, to } = useTokenTime(coinType);
  // A token that is younger than yesterday's close is compared with its beginning.
  const usual = Math.max(yesterdaysClose(to * 1_000), from ?? 0);
  const against = search.with ?? String(usual);
  const other = useRegister(coinType, against, { enabled: from !== undefined });
  return (
    <>
      <Card>
        <When
          name="with"
          label="Compared with"
          at={against}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
        />
      </Card>
      <Answered of={other} what="The register of the other date" card>
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
  /** The times in view, unix seconds; undefined: now. */
  readonly oneAt: string;
  readonly twoAt: string | undefined;
}) => {
  const [only, setOnly] = useState<ChangeKind | null>(null);
  const inOrder = (one?.timeMs ?? 0) <= two.timeMs;
  const [earlier, later] = inOrder ? [one ?? EMPTY, two] : [two, one ?? EMPTY];
  const [earlierAt, laterAt] = inOrder ? [oneAt, twoAt] : [twoAt, oneAt];
  const comparison = useMemo(() => compareRegisters(earlier, later), [earlier, later]);
  const rows = useMemo(
    () => comparison.differences.filter(({ kind }) => only === null || kind === only),
    [comparison, only],
  );
  const columns = useMemo(
    // A holder that exited is only in the earlier register.
    () => columnsOf(two.decimals, (kind) => (kind === "exited" ? earlierAt : laterAt)),
    [two.decimals, earlierAt, laterAt],
  );
  return (
    <>
      <Figures wide={5}>
        {ALL_KINDS.map((kind) => (
          <Figure
            key={kind}
            label={KINDS[kind].label}
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
            <Moment at={earlier.timeMs} /> to <Moment at={later.timeMs} />
          </>
        }
        actions={
          <div className="flex flex-wrap gap-2">
            {ALL_KINDS.map((kind) => (
              <Chip
                key={kind}
                pressed={only === kind}
                onClick={() => setOnly(only === kind ? null : kind)}
              >
                {KINDS[kind].label}
              </Chip>
            ))}
          </div>
        }
      >
        <DataTable
          label="Differences"
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          empty={<Empty title="No differences">All balances are the same at both times.</Empty>}
        />
      </Card>
    </>
  );
};

const columnsOf = (
  decimals: number | null,
  atOf: (kind: ChangeKind) => string | undefined,
): readonly Column<Difference>[] => [
  {
    header: "Holder",
    cell: ({ id, holderId, kind }) => {
      const at = atOf(kind);
      return (
        <span className="inline-flex items-center gap-2">
          <Link
            to="/holder/$holder"
            params={{ holder: id }}
            search={keepTokenWith(at === undefined ? {} : { at })}
            className="font-medium hover:text-accent hover:underline"
          >
            {rowLabel(id, holderId)}
          </Link>
          <Badge tone={KINDS[kind].tone}>{KINDS[kind].label.toLowerCase()}</Badge>
        </span>
      );
    },
  },
  amountColumn("Before", decimals, ({ before }) => before, { wideOnly: true, sorted: true }),
  amountColumn("After", decimals, ({ after }) => after, { wideOnly: true, sorted: true }),
  amountColumn("Change", decimals, ({ change }) => change, { sorted: true, signed: true }),
];
