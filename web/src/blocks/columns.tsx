/** Ids with links, and columns that several tables have. */
import { Link } from "@tanstack/react-router";
import { inTokens } from "../../../client/in-tokens.ts";
import { keepMoment, keepToken, keepTokenWith } from "../data/tokens.ts";
import { CAUSES } from "../register/words.ts";
import { LongId } from "../shown/copied.tsx";
import { Amount } from "../shown/fitted.tsx";
import { shortened } from "../shown/shorten.ts";
import { isoText, Moment } from "../shown/shown.tsx";
import { Cut } from "./blocks.tsx";
import type { Column } from "./column.ts";

/** A wallet's address, linked to its own view, to the view of its holder, or to its movements. */
export const WalletId = ({
  address,
  to,
}: {
  readonly address: string;
  readonly to?: "wallet" | "holder" | "movements";
}) => (
  <LongId text={address} what="address" explorer="account">
    {to === "wallet" ? (
      <Link
        to="/wallet/$address"
        params={{ address }}
        search={keepMoment}
        className="hover:underline"
      >
        {shortened(address)}
      </Link>
    ) : to === "holder" ? (
      <Link
        to="/holder/$holder"
        params={{ holder: address }}
        search={keepMoment}
        className="hover:underline"
      >
        {shortened(address)}
      </Link>
    ) : to === "movements" ? (
      <Link to="/movements" search={keepTokenWith({ wallet: address })} className="hover:underline">
        {shortened(address)}
      </Link>
    ) : undefined}
  </LongId>
);

export const timeColumn = <Row,>(header: string, timeMs: (row: Row) => number): Column<Row> => ({
  header,
  cell: (row) => <Moment at={timeMs(row)} brief />,
  plain: (row) => isoText(timeMs(row)),
});

/** A transaction's digest, linked to what the transaction did. */
export const TransactionId = ({ digest }: { readonly digest: string }) => (
  <LongId text={digest} what="digest" explorer="transaction">
    <Link
      to="/transaction/$digest"
      params={{ digest }}
      search={keepToken}
      className="hover:underline"
    >
      {shortened(digest)}
    </Link>
  </LongId>
);

/** Links to what the transaction did. */
export const transactionColumn = <Row,>(
  digest: (row: Row) => string | null | undefined,
): Column<Row> => ({
  header: "Transaction",
  wideOnly: true,
  cell: (row) => {
    const text = digest(row);
    return text && <TransactionId digest={text} />;
  },
  plain: digest,
});

/** How amounts of a token are written: its decimals, or also its symbol, which is shown beside the heading. */
export type Unit =
  | number
  | null
  | { readonly decimals: number | null; readonly symbol: string | null };

/** Amounts with all their decimals, so that digits line up. */
export const amountColumn = <Row,>(
  header: string,
  of: Unit,
  units: (row: Row) => bigint,
  {
    signed = false,
    sorted = false,
    isPart = false,
    ...column
  }: Pick<Column<Row>, "wideOnly" | "className"> & {
    readonly signed?: boolean;
    /** Whether a click on the heading sorts by it. */
    readonly sorted?: boolean;
    /** Part of another amount: no zeroes. */
    readonly isPart?: boolean;
  } = {},
): Column<Row> => {
  const { decimals, symbol } =
    typeof of === "object" && of !== null ? of : { decimals: of, symbol: null };
  return {
    ...column,
    header,
    unit: symbol ?? undefined,
    align: "right",
    amount: true,
    ...(sorted ? { order: units } : {}),
    cell: (row) =>
      isPart && units(row) === 0n ? null : (
        <Amount units={units(row)} decimals={decimals} signed={signed} fixed />
      ),
    plain: (row) => inTokens(units(row), decimals ?? 0),
  };
};

/** Changes of a wallet's balance. */
export const changeColumns = (
  of: Unit,
): readonly Column<{
  readonly timeMs: number;
  readonly cause: keyof typeof CAUSES;
  readonly part: string;
  readonly change: bigint;
  readonly balanceAfter: bigint;
  readonly txDigest: string;
}>[] => [
  timeColumn("Time", ({ timeMs }) => timeMs),
  {
    header: "Type",
    cell: ({ cause }) => <Cut text={CAUSES[cause]} />,
    plain: ({ cause }) => CAUSES[cause],
  },
  {
    header: "Held in",
    wideOnly: true,
    cell: ({ part }) => (part === "GRANTS" ? "grants" : "tokens"),
    plain: ({ part }) => (part === "GRANTS" ? "grants" : "tokens"),
  },
  amountColumn("Change", of, ({ change }) => change, { signed: true }),
  amountColumn("Balance after", of, ({ balanceAfter }) => balanceAfter, { wideOnly: true }),
  transactionColumn(({ txDigest }) => txDigest),
];
