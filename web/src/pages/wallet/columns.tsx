/** What a wallet is and has in each token. */
import { Link } from "@tanstack/react-router";
import { inTokens } from "../../../../client/in-tokens.ts";
import { Badge } from "../../blocks/blocks.tsx";
import type { Column } from "../../blocks/column.ts";
import { HolderName } from "../../blocks/names.tsx";
import { keepMoment, tokenLabel } from "../../data/tokens.ts";
import { heldRoles } from "../../register/words.ts";
import { Amount } from "../../shown/fitted.tsx";
import type { InToken } from "./page.tsx";

const LINK = "hover:text-accent hover:underline";

const amount = (
  header: string,
  units: (row: InToken) => string,
  {
    isPart = false,
    ...more
  }: Pick<Column<InToken>, "wideOnly"> & {
    /** Part of another amount: no zeroes. */
    readonly isPart?: boolean;
  } = {},
): Column<InToken> => ({
  ...more,
  header,
  align: "right",
  amount: true,
  cell: (row) =>
    isPart && units(row) === "0" ? null : (
      <Amount units={BigInt(units(row))} decimals={row.decimals} fixed />
    ),
  plain: (row) => inTokens(BigInt(units(row)), row.decimals ?? 0),
});

export const walletColumns = (address: string): readonly Column<InToken>[] => [
  {
    header: "Token",
    cell: (row) => (
      <Link
        to="/cap-table"
        search={(now) => ({ ...keepMoment(now), token: row.coinType })}
        className={`font-medium ${LINK}`}
        title={row.name ?? row.coinType}
      >
        {tokenLabel(row)}
      </Link>
    ),
    plain: ({ coinType }) => coinType,
  },
  amount("Balance", ({ balance }) => balance),
  amount("In grants", ({ granted }) => granted, { wideOnly: true, isPart: true }),
  {
    header: "Holder",
    cell: ({ coinType, holderId }) =>
      holderId === null ? (
        <Link
          to="/holder/$holder"
          params={{ holder: address }}
          search={(now) => ({ ...keepMoment(now), token: coinType })}
          className={LINK}
        >
          <Badge tone="warn">no holder</Badge>
        </Link>
      ) : (
        // On a phone the label is below the number.
        <span className="max-md:[&>span]:flex-col max-md:[&>span]:gap-0">
          <HolderName coinType={coinType} holderId={holderId} />
        </span>
      ),
    plain: ({ holderId }) => holderId,
  },
  {
    header: "State",
    wideOnly: true,
    cell: ({ isFrozen }) =>
      isFrozen ? <Badge tone="bad">frozen</Badge> : <span className="text-muted">active</span>,
    plain: ({ isFrozen }) => (isFrozen ? "frozen" : "active"),
  },
  {
    header: "Transfer group",
    wideOnly: true,
    cell: ({ groupId }) => groupId,
    plain: ({ groupId }) => groupId,
  },
  {
    header: "Roles",
    wideOnly: true,
    cell: (row) => {
      const held = heldRoles(row);
      return held.length === 0 ? null : (
        <ul className="text-xs">
          {held.map(({ role, name }) => (
            <li key={role} title={role}>
              {name}
            </li>
          ))}
        </ul>
      );
    },
    plain: (row) =>
      heldRoles(row)
        .map(({ name }) => name)
        .join(", "),
  },
  {
    header: "History",
    wideOnly: true,
    cell: ({ coinType }) => (
      <Link
        to="/movements"
        search={{ token: coinType, wallet: address }}
        className={`text-accent ${LINK}`}
      >
        Movements
      </Link>
    ),
  },
];
