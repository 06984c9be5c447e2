/** The table of holders. */
import { Link, useNavigate } from "@tanstack/react-router";
import { useMemo } from "react";
import { Badge, Empty } from "../../blocks/blocks.tsx";
import { amountColumn } from "../../blocks/columns.tsx";
import { type Column, DataTable } from "../../blocks/data-table.tsx";
import { keepMoment } from "../../data/tokens.ts";
import { type Register, type Row, rowId, rowLabel } from "../../register/register.ts";
import { proportion, shareText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";

export const Holders = ({
  register,
  rows,
}: {
  readonly register: Register;
  readonly rows: readonly Row[];
}) => {
  const navigate = useNavigate();
  const columns = useMemo(() => columnsOf(register), [register]);
  return (
    <DataTable
      label="Holders"
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

const columnsOf = ({ decimals, issued }: Register): readonly Column<Row>[] => {
  const part = { sorted: true, isPart: true, wideOnly: true } as const;
  return [
    {
      header: "Holder",
      cell: (row) => (
        <span className="inline-flex items-center gap-2 max-[359px]:flex-col max-[359px]:items-start max-[359px]:gap-0">
          <Link
            to="/holder/$holder"
            params={{ holder: rowId(row) }}
            search={keepMoment}
            className="font-medium hover:text-accent hover:underline"
          >
            {rowLabel(rowId(row), row.holderId)}
          </Link>
          {row.holderId === null ? <Badge tone="warn">no holder</Badge> : null}
          {row.wallets.some(({ isFrozen }) => isFrozen) ? <Badge tone="bad">frozen</Badge> : null}
        </span>
      ),
    },
    {
      header: "Wallets",
      wideOnly: true,
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
    amountColumn("Balance", decimals, ({ balance }) => balance, { sorted: true }),
    // Follows from the other amounts where there is no room.
    amountColumn("Tokens", decimals, ({ tokens }) => tokens, { ...part, wideOnly: "very" }),
    amountColumn("Unlocked", decimals, ({ unlocked }) => unlocked, part),
    amountColumn("Locked", decimals, ({ locked }) => locked, part),
    {
      header: "Share",
      align: "right",
      className: "max-[359px]:hidden",
      order: (row) => row.balance,
      cell: (row) => (
        <span className="inline-flex items-center justify-end gap-2">
          <span className="figures">{shareText(row.balance, issued)}</span>
          <span
            className="h-1.5 w-14 overflow-hidden rounded-full bg-sunken max-md:hidden"
            aria-hidden="true"
          >
            <span
              className="block h-full rounded-full bg-accent"
              style={{ width: `${proportion(row.balance, issued) * 100}%` }}
            />
          </span>
        </span>
      ),
    },
  ];
};
