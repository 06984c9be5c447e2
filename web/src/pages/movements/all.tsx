/** Every movement of a token, from whom to whom. */
import { useMemo } from "react";
import { Badge, Cut } from "../../blocks/blocks.tsx";
import type { Column } from "../../blocks/column.ts";
import { amountColumn, timeColumn, transactionColumn } from "../../blocks/columns.tsx";
import { PagesCard } from "../../blocks/list.tsx";
import { Side } from "../../blocks/names.tsx";
import { Button } from "../../controls/controls.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { ROWS_PER_PAGE, useGraph, usePages } from "../../data/queries.ts";
import type { Token } from "../../data/tokens.ts";
import { movementOf } from "../../register/words.ts";
import { fromSeconds } from "../../shown/moment.ts";
import type { DayRange } from "./days.tsx";

const movementsPage = graph(`query MovementsPage(
  $coinType: String!, $after: String, $order: SortOrder!, $limit: Int!, $type: String,
  $fromTimestamp: String, $toTimestamp: String
) {
  tokenActivity(
    coinType: $coinType, after: $after, order: $order, limit: $limit, activityType: $type,
    fromTimestamp: $fromTimestamp, toTimestamp: $toTimestamp
  ) {
    eventId activityType amount fromAddress fromHolderId toAddress toHolderId signer checkpointTimestamp
    txDigest position
  }
}`);

type Movement = NonNullable<ResultOf<typeof movementsPage>["tokenActivity"]>[number];

/** New movements are counted up to this many. */
const MAX_NEW = 100;

const newerMovements =
  graph(`query NewerMovements($coinType: String!, $after: String!, $type: String, $limit: Int!) {
  tokenActivity(coinType: $coinType, after: $after, limit: $limit, activityType: $type) { position }
}`);

export const AllMovements = ({
  token,
  type,
  order,
  days,
}: {
  readonly token: Token;
  /** Null: all types. */
  readonly type: string | null;
  readonly order: "ASC" | "DESC";
  readonly days: DayRange;
}) => {
  const { coinType } = token;
  const { pages, rows } = usePages(
    ["movements", coinType, order, type, days],
    async (after, asking) => {
      const variables = { coinType, order, after, limit: ROWS_PER_PAGE, type, ...days };
      return (await ask(movementsPage, variables, asking)).tokenActivity;
    },
    ({ position }) => position,
  );
  // None arrive on days of the past.
  const isOpen = days.toTimestamp === null;
  const newest = order === "DESC" && isOpen ? rows[0]?.position : undefined;
  const arrived = useGraph(
    newerMovements,
    { coinType, after: newest ?? "0", type, limit: MAX_NEW },
    { enabled: newest !== undefined },
  );
  const fresh = (arrived.data?.tokenActivity ?? []).filter(
    ({ position }) => newest !== undefined && BigInt(position) > BigInt(newest),
  ).length;
  const columns = useMemo(() => columnsOf(token), [token]);
  return (
    <PagesCard
      title={order === "DESC" ? "Newest first" : "Oldest first"}
      actions={
        fresh > 0 ? (
          <Button look="strong" onClick={() => void pages.refetch()}>
            {fresh === MAX_NEW ? `${MAX_NEW} or more` : fresh} new{" "}
            {fresh === 1 ? "movement" : "movements"}
          </Button>
        ) : undefined
      }
      of={pages}
      what="The movements"
      label="Movements"
      view="movements"
      columns={columns}
      rows={rows}
      keyOf={({ eventId }) => eventId}
      empty={{ title: type === null ? "No movements yet" : "No movements of this type" }}
    />
  );
};

const columnsOf = (token: Token): readonly Column<Movement>[] => {
  const { coinType } = token;
  return [
    timeColumn("Time", ({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
    {
      header: "Type",
      cell: ({ activityType }) => {
        const { label, tone } = movementOf(activityType);
        return (
          <Cut text={label}>
            <Badge tone={tone}>{label}</Badge>
          </Cut>
        );
      },
      plain: ({ activityType }) => movementOf(activityType).label,
    },
    amountColumn("Amount", token, ({ amount }) => BigInt(amount)),
    {
      header: "From",
      wideOnly: true,
      cell: ({ fromAddress, fromHolderId }) => (
        <Side
          coinType={coinType}
          address={fromAddress}
          holderId={fromHolderId}
          none="newly issued"
          brief
        />
      ),
      plain: ({ fromAddress }) => fromAddress,
    },
    {
      header: "To",
      wideOnly: true,
      cell: ({ toAddress, toHolderId }) => (
        <Side coinType={coinType} address={toAddress} holderId={toHolderId} none="burned" brief />
      ),
      plain: ({ toAddress }) => toAddress,
    },
    transactionColumn(({ txDigest }) => txDigest),
  ];
};
