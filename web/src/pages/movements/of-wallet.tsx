/** What changed the balance of one wallet: grants too, which no movement of the token shows. */
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty } from "../../blocks/blocks.tsx";
import { changeColumns } from "../../blocks/columns.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { ask } from "../../data/ask.ts";
import { graph } from "../../data/graph.ts";
import type { Token } from "../../data/tokens.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { NextPage, PAGE, usePages } from "./pages.tsx";

const changesPage = graph(`query WalletChanges(
  $coinType: String!, $owner: String!, $after: String, $order: SortOrder!, $limit: Int!
) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, order: $order, limit: $limit) {
    part cause change balanceAfter checkpoint checkpointTimestamp txDigest cursor
  }
}`);

export const OfWallet = ({
  token: { coinType, decimals },
  wallet,
  order,
}: {
  readonly token: Token;
  readonly wallet: string;
  readonly order: "ASC" | "DESC";
}) => {
  const { pages, rows, about } = usePages(
    ["wallet changes", coinType, wallet, order],
    async (after, asking) => {
      const variables = { coinType, owner: wallet, order, after, limit: PAGE };
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
  return (
    <Answered of={pages} what="The movements" lines={8} card>
      {() => (
        <Card
          flush
          title={<LongId text={wallet} what="address" explorer="account" head={12} tail={8} />}
          about={about}
        >
          <DataTable
            label="Movements of this wallet"
            rows={changes}
            keyOf={({ cursor }) => cursor}
            empty={
              <Empty title="Nothing ever moved here">
                This wallet never held this token. Check that the right token is chosen.
              </Empty>
            }
            columns={changeColumns(decimals)}
          />
          <NextPage of={pages} />
        </Card>
      )}
    </Answered>
  );
};
