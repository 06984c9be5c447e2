/** What changed the balance of one wallet: grants too, which no movement of the token shows. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Cut, Empty } from "../../blocks/blocks.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { Button } from "../../controls/button.tsx";
import { ask } from "../../data/ask.ts";
import { graph } from "../../data/graph.ts";
import { PAST } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";
import type { Token } from "../../data/tokens.ts";
import { CAUSES } from "../../register/causes.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const changesPage = graph(`query WalletChanges(
  $coinType: String!, $owner: String!, $after: String, $order: SortOrder!, $limit: Int!
) {
  balanceChanges(coinType: $coinType, owner: $owner, after: $after, order: $order, limit: $limit) {
    part cause change balanceAfter checkpoint checkpointTimestamp txDigest cursor
  }
}`);

const PAGE = 200;

export const OfWallet = ({
  token,
  wallet,
  order,
}: {
  readonly token: Token;
  readonly wallet: string;
  readonly order: "ASC" | "DESC";
}) => {
  const { key } = useSession();
  const { coinType, decimals } = token;
  const pages = useInfiniteQuery({
    queryKey: [PAST, "wallet changes", coinType, wallet, order],
    initialPageParam: null as string | null,
    queryFn: async ({ pageParam, signal }) => {
      const variables = { coinType, owner: wallet, order, after: pageParam, limit: PAGE };
      return (await ask(changesPage, variables, { key, signal })).balanceChanges ?? [];
    },
    getNextPageParam: (last) => (last.length < PAGE ? undefined : last.at(-1)?.cursor),
    staleTime: 0,
    gcTime: 0,
  });
  const rows = useMemo(() => pages.data?.pages.flat() ?? [], [pages.data]);
  return (
    <Answered of={pages} what="The movements" lines={8} card>
      {() => (
        <Card
          flush
          title={<LongId text={wallet} what="address" explorer="account" head={12} tail={8} />}
          about={pages.hasNextPage ? `First ${rows.length} shown` : `All ${rows.length} shown`}
        >
          <DataTable
            label="Movements of this wallet"
            rows={rows}
            keyOf={({ cursor }) => cursor}
            empty={
              <Empty title="Nothing ever moved here">
                This wallet never held this token. Check that the right token is chosen.
              </Empty>
            }
            columns={[
              {
                id: "time",
                header: "Time",
                cell: (row) => <Moment ms={fromSeconds(row.checkpointTimestamp)} brief />,
              },
              { id: "cause", header: "What", cell: ({ cause }) => <Cut text={CAUSES[cause]} /> },
              {
                id: "part",
                header: "Part",
                wideOnly: true,
                cell: ({ part }) => (part === "GRANTS" ? "grants" : "tokens"),
              },
              {
                id: "change",
                header: "Change",
                align: "right",
                amount: true,
                cell: ({ change }) => (
                  <Amount units={BigInt(change)} decimals={decimals} signed fixed />
                ),
              },
              {
                id: "after",
                header: "Balance after",
                align: "right",
                amount: true,
                wideOnly: true,
                cell: ({ balanceAfter }) => (
                  <Amount units={BigInt(balanceAfter)} decimals={decimals} fixed />
                ),
              },
              {
                id: "tx",
                header: "Transaction",
                wideOnly: true,
                cell: ({ txDigest }) => (
                  <LongId text={txDigest} what="digest" explorer="transaction" />
                ),
              },
            ]}
          />
          {pages.hasNextPage ? (
            <div className="border-t border-line p-3 text-center">
              <Button
                disabled={pages.isFetchingNextPage}
                onClick={() => void pages.fetchNextPage()}
              >
                {pages.isFetchingNextPage ? "Reading…" : `Read ${PAGE} more`}
              </Button>
            </div>
          ) : null}
        </Card>
      )}
    </Answered>
  );
};
