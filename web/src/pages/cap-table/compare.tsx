/** Two dates compared: new, exited, increased and decreased holders, which add up to what was issued between. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { shareOf } from "../../../../client/cap-rows.ts";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, Figure, Figures, type Tone } from "../../blocks/blocks.tsx";
import { amountColumn, type Unit } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { LabelText } from "../../blocks/names.tsx";
import { Chip } from "../../controls/controls.tsx";
import { When } from "../../controls/when.tsx";
import { subjectOf } from "../../data/labels.ts";
import { keepTokenWith, type Token, tokenLabel, useTokenTime } from "../../data/tokens.ts";
import { type ChangeKind, compareRegisters, type Difference } from "../../register/compare.ts";
import { type Register, rowLabel, useRegister } from "../../register/register.ts";
import { countText, shareChangeText, shareText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { dayText, yesterdaysClose } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const KINDS: Readonly<Record<ChangeKind, { readonly label: string; readonly tone: Tone }>> = {
  new: { label: "New", tone: "good" },
  exited: { label: "Exited", tone: "bad" },
  increased: { label: "Increased", tone: "accent" },
  decreased: { label: "Decreased", tone: "warn" },
};

const ALL_KINDS = ["new", "exited", "increased", "decreased"] as const;

export const Compare = ({
  token,
  register,
}: {
  readonly token: Token;
  readonly register: Register;
}) => {
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
        {(one) => (
          <Differences token={token} one={one} two={register} oneAt={against} twoAt={search.at} />
        )}
      </Answered>
    </>
  );
};

const EMPTY = { rows: [], issued: 0n, timeMs: 0 };

const Differences = ({
  token,
  one,
  two,
  oneAt,
  twoAt,
}: {
  readonly token: Token;
  readonly one: Register | null;
  readonly two: Register;
  /** The times in view, unix seconds; undefined: now. */
  readonly oneAt: string;
  readonly twoAt: string | undefined;
}) => {
  const { symbol } = token;
  const navigate = useNavigate();
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
    () =>
      columnsOf({ decimals: two.decimals, symbol }, [earlier.issued, later.issued], (kind) =>
        kind === "exited" ? earlierAt : laterAt,
      ),
    [two.decimals, symbol, earlier.issued, later.issued, earlierAt, laterAt],
  );
  return (
    <>
      <Figures wide={5}>
        {ALL_KINDS.map((kind) => (
          <Figure
            key={kind}
            label={KINDS[kind].label}
            value={countText(comparison.sums[kind].count)}
            about={
              <Amount
                units={comparison.sums[kind].change}
                decimals={two.decimals}
                symbol={symbol}
                signed
              />
            }
          />
        ))}
        <Figure
          label="Issued between"
          value={
            <Amount
              units={later.issued - earlier.issued}
              decimals={two.decimals}
              symbol={symbol}
              signed
            />
          }
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
          view="differences"
          file={`${tokenLabel(token)} differences ${dayText(earlier.timeMs)} ${dayText(later.timeMs)}`}
          columns={columns}
          rows={rows}
          keyOf={({ id }) => id}
          onRow={({ id, kind }) => {
            const at = kind === "exited" ? earlierAt : laterAt;
            void navigate({
              to: "/holder/$holder",
              params: { holder: id },
              search: keepTokenWith(at === undefined ? {} : { at }),
            });
          }}
          empty={<Empty title="No differences">All balances are the same at both times.</Empty>}
        />
      </Card>
    </>
  );
};

const columnsOf = (
  unit: Unit,
  /** Issued at both times. */
  [earlier, later]: readonly [bigint, bigint],
  atOf: (kind: ChangeKind) => string | undefined,
): readonly Column<Difference>[] => {
  const share = (
    header: string,
    of: (row: Difference) => bigint,
    whole: bigint,
    wideOnly: true | "very",
  ) =>
    ({
      header,
      align: "right",
      wideOnly,
      cell: (row: Difference) => <span className="figures">{shareText(of(row), whole)}</span>,
      plain: (row: Difference) => shareOf(of(row), whole),
    }) as const;
  const part = { wideOnly: true, sorted: true, isPart: true } as const;
  const moved = ({ before, after }: Difference) =>
    shareChangeText({ part: before, whole: earlier }, { part: after, whole: later });
  return [
    {
      header: "Holder",
      plain: ({ id }) => id,
      cell: ({ id, holderId, kind }) => {
        const at = atOf(kind);
        return (
          <span className="inline-flex items-center gap-2 max-[479px]:flex-col max-[479px]:items-start max-[479px]:gap-0">
            <Link
              to="/holder/$holder"
              params={{ holder: id }}
              search={keepTokenWith(at === undefined ? {} : { at })}
              className="font-medium hover:text-accent hover:underline"
            >
              {rowLabel(id, holderId)}
            </Link>
            <LabelText of={subjectOf({ holderId, wallets: [{ address: id }] })} />
            <Badge tone={KINDS[kind].tone}>{KINDS[kind].label.toLowerCase()}</Badge>
          </span>
        );
      },
    },
    amountColumn("Before", unit, ({ before }) => before, part),
    amountColumn("After", unit, ({ after }) => after, part),
    amountColumn("Change", unit, ({ change }) => change, { sorted: true, signed: true }),
    share("Share before", ({ before }) => before, earlier, "very"),
    share("Share after", ({ after }) => after, later, true),
    {
      header: "Share change",
      unit: "points",
      align: "right",
      wideOnly: true,
      cell: (row) => <span className="figures">{moved(row)}</span>,
      plain: moved,
    },
  ];
};
