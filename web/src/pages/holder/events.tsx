/** Events of a holder in the register: wallets added and removed, groups, freezes. */
import { useMemo } from "react";
import { timeColumn, WalletId } from "../../blocks/columns.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { NOW, readAll, useRead } from "../../data/queries.ts";
import { eventText } from "../../register/words.ts";
import { fromSeconds } from "../../shown/moment.ts";

const eventsPage = graph(`query EventsPage($coinType: String!, $after: String) {
  holderEvents(coinType: $coinType, after: $after, limit: 1000) {
    eventId eventType holderId address groupId isFrozen checkpointTimestamp position
  }
}`);

type Event = NonNullable<ResultOf<typeof eventsPage>["holderEvents"]>[number];

/** All events of the token are read, and filtered here: so many pages of 1,000. */
const MAX_PAGES = 20;

export const Events = ({
  coinType,
  holderId,
  addresses,
  untilMs,
}: {
  readonly coinType: string;
  readonly holderId: string | null;
  readonly addresses: readonly string[];
  /** Leaves out later events; undefined: none. */
  readonly untilMs: number | undefined;
}) => {
  const query = useRead(NOW, ["events", coinType, holderId, addresses], async (asking) => {
    const { rows, whole } = await readAll(
      MAX_PAGES,
      async (after) => (await ask(eventsPage, { coinType, after }, asking)).holderEvents,
      ({ position }) => position,
    );
    const events = rows.filter(
      (event) =>
        (event.holderId !== null && event.holderId === holderId) ||
        (event.address !== null && addresses.includes(event.address)),
    );
    return { events: events.reverse(), whole };
  });
  const { data } = query;
  const shown = useMemo(
    () =>
      (data?.events ?? []).filter(
        ({ checkpointTimestamp }) =>
          untilMs === undefined || fromSeconds(checkpointTimestamp) <= untilMs,
      ),
    [data, untilMs],
  );
  return (
    <ListCard
      title="Register events"
      about={
        data === undefined || data.whole
          ? "Events of this holder and its wallets, newest first"
          : "Among the first 20,000 events of this token"
      }
      of={query}
      what="The events"
      label="Events of this holder"
      height="20rem"
      columns={[
        timeColumn("Time", ({ checkpointTimestamp }: Event) => fromSeconds(checkpointTimestamp)),
        { header: "Event", cell: eventText },
        {
          header: "Wallet",
          wideOnly: true,
          cell: ({ address }) => (address === null ? null : <WalletId address={address} />),
        },
      ]}
      rows={() => shown}
      keyOf={({ eventId }) => eventId}
      empty={{ title: "No event names this holder or its wallets" }}
    />
  );
};
