/** Events of a holder in the register: wallets added and removed, groups, freezes. */
import type { Column } from "../../blocks/column.ts";
import { timeColumn } from "../../blocks/columns.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { momentVariables } from "../../data/moment.ts";
import { NOW, PAST, readAll, useRead } from "../../data/queries.ts";
import { eventText } from "../../register/words.ts";
import { fromSeconds } from "../../shown/moment.ts";

const eventsPage = graph(`query EventsPage(
  $coinType: String!, $holderId: String, $owner: String, $toCheckpoint: String, $toTimestamp: String,
  $after: String
) {
  holderEvents(
    coinType: $coinType, holderId: $holderId, owner: $owner, toCheckpoint: $toCheckpoint,
    toTimestamp: $toTimestamp, after: $after, order: DESC, limit: 1000
  ) {
    eventId eventType holderId address groupId isFrozen checkpointTimestamp position
  }
}`);

type Event = NonNullable<ResultOf<typeof eventsPage>["holderEvents"]>[number];

/** Pages of 1,000 that are read. */
const MAX_PAGES = 5;

export const Events = ({
  coinType,
  of,
  at,
}: {
  readonly coinType: string;
  /** A holder's number, or the address of a wallet without one. */
  readonly of: string;
  /** The moment; undefined: now. */
  readonly at: string | undefined;
}) => {
  const query = useRead(
    at === undefined ? NOW : PAST,
    ["events", coinType, of, at ?? "newest"],
    (asking) => {
      const { atCheckpoint: toCheckpoint, atTimestamp: toTimestamp } = momentVariables(at);
      const whose = of.startsWith("0x") ? { owner: of } : { holderId: of };
      const variables = { coinType, ...whose, toCheckpoint, toTimestamp };
      return readAll(
        MAX_PAGES,
        async (after) => (await ask(eventsPage, { ...variables, after }, asking)).holderEvents,
        ({ position }) => position,
      );
    },
  );
  return (
    <ListCard
      title="Register events"
      about={
        query.data === undefined || query.data.whole
          ? "Events of this holder, and of the wallets that it had then, newest first"
          : "The newest 5,000 events of this holder"
      }
      of={query}
      what="The events"
      label="Events of this holder"
      height="20rem"
      columns={COLUMNS}
      rows={({ rows }) => rows}
      keyOf={({ eventId }) => eventId}
      empty={{ title: "No event names this holder or its wallets" }}
    />
  );
};

const COLUMNS: readonly Column<Event>[] = [
  timeColumn("Time", ({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
  { header: "Event", cell: eventText, plain: eventText },
  {
    header: "Wallet",
    wideOnly: true,
    cell: ({ address }) => address && <WalletName address={address} />,
    plain: ({ address }) => address,
  },
];
