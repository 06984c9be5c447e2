/** Columns that several tables have. */
import { LongId } from "../shown/copied.tsx";
import { Amount } from "../shown/fitted.tsx";
import { Moment } from "../shown/shown.tsx";
import { Cut } from "./blocks.tsx";
import type { Column } from "./data-table.tsx";

/** Amounts with all their decimals, so that digits stand below each other. */
export const amountColumn = <Row,>(
  decimals: number | null,
  units: (row: Row) => bigint,
  {
    signed = false,
    sorted = false,
    ...column
  }: Omit<Column<Row>, "align" | "amount" | "cell" | "order"> & {
    readonly signed?: boolean;
    /** Whether a click on the heading sorts by it. */
    readonly sorted?: boolean;
  },
): Column<Row> => ({
  ...column,
  align: "right",
  amount: true,
  ...(sorted ? { order: units } : {}),
  cell: (row) => <Amount units={units(row)} decimals={decimals} signed={signed} fixed />,
});

/** Why a balance changed, in plain words. */
const CAUSES = {
  MINT: "Issued",
  BURN: "Burned",
  TRANSFER: "Transferred",
  FORCE_TRANSFER: "Moved by an administrator",
  GRANT_FUNDED: "Put into a grant",
  GRANT_CLAIMED: "Claimed from a grant",
  GRANT_CANCELLED: "Grant cancelled",
  UNKNOWN: "Not explained by any event",
} as const;

/** Of changes of a wallet's balance. */
export const changeColumns = (
  decimals: number | null,
): readonly Column<{
  readonly timeMs: number;
  readonly cause: keyof typeof CAUSES;
  readonly part: string;
  readonly change: bigint;
  readonly balanceAfter: bigint;
  readonly txDigest: string;
}>[] => [
  { id: "time", header: "Time", cell: ({ timeMs }) => <Moment ms={timeMs} brief /> },
  { id: "cause", header: "What", cell: ({ cause }) => <Cut text={CAUSES[cause]} /> },
  {
    id: "part",
    header: "Part",
    wideOnly: true,
    cell: ({ part }) => (part === "GRANTS" ? "grants" : "tokens"),
  },
  amountColumn(decimals, ({ change }) => change, { id: "change", header: "Change", signed: true }),
  amountColumn(decimals, ({ balanceAfter }) => balanceAfter, {
    id: "after",
    header: "Balance after",
    wideOnly: true,
  }),
  {
    id: "tx",
    header: "Transaction",
    wideOnly: true,
    cell: ({ txDigest }) => <LongId text={txDigest} what="digest" explorer="transaction" />,
  },
];
