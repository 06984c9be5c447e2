/** The table of holders. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { shareOf } from "../../../../client/cap-rows.ts";
import { Badge, Empty } from "../../blocks/blocks.tsx";
import { amountColumn, type Unit } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { LabelOf } from "../../blocks/names.tsx";
import { type LabelsOfToken, subjectOf, useLabels } from "../../data/labels.ts";
import { keepMoment, type Token, tokenLabel } from "../../data/tokens.ts";
import { type Register, type Row, rowId, rowLabel } from "../../register/register.ts";
import { proportion, shareText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";

export const Holders = ({
  token,
  register,
  rows,
}: {
  readonly token: Token;
  readonly register: Register;
  readonly rows: readonly Row[];
}) => {
  const navigate = useNavigate();
  const { symbol } = token;
  const { decimals, issued } = register;
  // Once, not in each row: a long register scrolls through thousands.
  const { labelOf } = useLabels(token.coinType);
  const columns = useMemo(
    () => columnsOf({ decimals, symbol }, issued, labelOf),
    [decimals, symbol, issued, labelOf],
  );
  return (
    <DataTable
      label="Holders"
      view="holders"
      file={`${tokenLabel(token)} holders ${register.checkpoint}`}
      columns={columns}
      rows={rows}
      keyOf={rowId}
      onRow={(row) =>
        void navigate({
          to: "/holder/$holder",
          params: { holder: rowId(row) },
          search: keepMoment,
        })
      }
      empty={
        <Empty title="No match">
          Search for a holder number, or for at least three characters of a wallet's address.
        </Empty>
      }
    />
  );
};

const columnsOf = (
  unit: Unit,
  issued: bigint,
  labelOf: LabelsOfToken["labelOf"],
): readonly Column<Row>[] => {
  const part = { sorted: true, isPart: true, wideOnly: true } as const;
  return [
    {
      header: "Holder",
      // Labels come later, into what the other columns leave.
      className: "md:w-full",
      plain: rowId,
      cell: (row) => (
        <span className="inline-flex items-center gap-2 max-[479px]:flex-col max-[479px]:items-start max-[479px]:gap-0">
          <Link
            to="/holder/$holder"
            params={{ holder: rowId(row) }}
            search={keepMoment}
            className="font-medium hover:text-accent hover:underline"
          >
            {rowLabel(rowId(row), row.holderId)}
          </Link>
          <LabelOf text={labelOf(subjectOf(row))?.text} />
          {row.holderId === null ? <Badge tone="warn">no holder</Badge> : null}
          {row.wallets.some(({ isFrozen }) => isFrozen) ? <Badge tone="bad">frozen</Badge> : null}
        </span>
      ),
    },
    {
      header: "Wallets",
      wideOnly: true,
      plain: ({ wallets }) => wallets.map(({ address }) => address).join(" "),
      cell: ({ wallets }) => {
        const [first] = wallets;
        return (
          first && (
            <span className="inline-flex items-center gap-1.5">
              <LongId text={first.address} what="address" />
              {wallets.length > 1 ? (
                <span className="text-xs text-muted" title={`${wallets.length} wallets`}>
                  +{wallets.length - 1}
                </span>
              ) : null}
            </span>
          )
        );
      },
    },
    amountColumn("Balance", unit, ({ balance }) => balance, { sorted: true }),
    // Follows from the other amounts where there is no room.
    amountColumn("Tokens", unit, ({ tokens }) => tokens, { ...part, wideOnly: "very" }),
    amountColumn("Unlocked", unit, ({ unlocked }) => unlocked, part),
    amountColumn("Locked", unit, ({ locked }) => locked, part),
    {
      header: "Share",
      align: "right",
      wideOnly: "slightly",
      order: (row) => row.balance,
      plain: (row) => shareOf(row.balance, issued),
      cell: (row) => (
        <span className="inline-flex items-center justify-end gap-2">
          <span
            className="h-1.5 w-14 overflow-hidden rounded-full bg-sunken max-md:hidden"
            aria-hidden="true"
          >
            <span
              className="block h-full rounded-full bg-accent"
              style={{ width: `${proportion(row.balance, issued) * 100}%` }}
            />
          </span>
          <span className="figures">{shareText(row.balance, issued)}</span>
        </span>
      ),
    },
  ];
};
