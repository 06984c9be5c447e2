/** Every change of one wallet's balance. Includes grants, which no movement of the token shows. */
import { useMemo } from "react";
import { changeColumns } from "../../blocks/columns.tsx";
import { PagesCard } from "../../blocks/list.tsx";
import { ask, graph } from "../../data/ask.ts";
import { ROWS_PER_PAGE, usePages } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import type { DayRange } from "./days.tsx";

const changesPage = graph(`query WalletChanges(
  $coinType: String!, $owner: String!, $after: String, $order: SortOrder!, $limit: Int!,
  $fromTimestamp: String, $toTimestamp: String
) {
  balanceChanges(
    coinType: $coinType, owner: $owner, after: $after, order: $order, limit: $limit,
    fromTimestamp: $fromTimestamp, toTimestamp: $toTimestamp
  ) { part cause change balanceAfter checkpoint checkpointTimestamp txDigest cursor }
}`);

export const WalletChanges = ({
  token,
  wallet,
  order,
  days,
}: {
  readonly token: Token;
  readonly wallet: string;
  readonly order: "ASC" | "DESC";
  readonly days: DayRange;
}) => {
  const { coinType } = token;
  const { pages, rows } = usePages(
    ["wallet changes", coinType, wallet, order, days],
    async (after, asking) => {
      const variables = { coinType, owner: wallet, order, after, limit: ROWS_PER_PAGE, ...days };
      return (await ask(changesPage, variables, asking)).balanceChanges;
    },
    ({ cursor }) => cursor,
  );
  const changes = useMemo(
    () =>
      rows.map((row) => ({
        ...row,
        change: BigInt(row.change),
        balanceAfter: BigInt(row.balanceAfter),
        timeMs: fromSeconds(row.checkpointTimestamp),
      })),
    [rows],
  );
  const columns = useMemo(() => changeColumns(token), [token]);
  const isAll = days.fromTimestamp === null && days.toTimestamp === null;
  return (
    <PagesCard
      title={<LongId text={wallet} what="address" explorer="account" head={12} tail={8} />}
      of={pages}
      what="The movements"
      label="Movements of this wallet"
      view="wallet-movements"
      columns={columns}
      rows={changes}
      keyOf={({ cursor }) => cursor}
      empty={
        isAll
          ? {
              title: "No movements",
              text: "This wallet never held this token. Check that the right token is chosen.",
            }
          : { title: "No movements on these days" }
      }
    />
  );
};
