/** What the register's events say of a holder: wallets that came and went, groups, freezes. */
import { useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Card, Empty } from "../../blocks/blocks.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { allPages } from "../../data/all-pages.ts";
import { ask } from "../../data/ask.ts";
import { graph, type ResultOf } from "../../data/graph.ts";
import { NOW } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";
import type { Token } from "../../data/tokens.ts";
import { saidOf } from "../../register/events.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const eventsPage = graph(`query EventsPage($coinType: String!, $after: String) {
  holderEvents(coinType: $coinType, after: $after, limit: 1000) {
    eventId eventType holderId address groupId isFrozen checkpointTimestamp position
  }
}`);

type Event = NonNullable<ResultOf<typeof eventsPage>["holderEvents"]>[number];

/** The register is asked for all its events: so many pages of 1,000 at most. */
const MOST_PAGES = 20;

export const Events = ({
  token,
  holderId,
  addresses,
  untilMs,
}: {
  readonly token: Token;
  readonly holderId: string | null;
  readonly addresses: readonly string[];
  /** Only what was before; all without it. */
  readonly untilMs: number | undefined;
}) => {
  const { key } = useSession();
  const { coinType } = token;
  const asked = useQuery({
    queryKey: [NOW, "events", coinType, holderId, addresses],
    queryFn: async ({ signal }) => {
      const { rows, whole } = await allPages<Event>(
        MOST_PAGES,
        async (after) => (await ask(eventsPage, { coinType, after }, { key, signal })).holderEvents,
        ({ position }) => position,
      );
      const events = rows.filter(
        ({ address, holderId: of }) =>
          (of !== null && of === holderId) || (address !== null && addresses.includes(address)),
      );
      return { events: events.reverse(), whole };
    },
  });
  const { data } = asked;
  const shown = useMemo(
    () =>
      (data?.events ?? []).filter(
        ({ checkpointTimestamp }) =>
          untilMs === undefined || fromSeconds(checkpointTimestamp) <= untilMs,
      ),
    [data, untilMs],
  );
  return (
    <Card
      flush
      title="Register events"
      about={
        data === undefined || data.whole
          ? "Events of this holder and its wallets, newest first"
          : "Among the first 20,000 events of this token"
      }
    >
      <Answered of={asked} what="The events">
        {() => (
          <DataTable
            label="Events of this holder"
            height="20rem"
            rows={shown}
            keyOf={({ eventId }) => eventId}
            empty={<Empty title="No event names this holder or its wallets" />}
            columns={[
              {
                id: "time",
                header: "Time",
                cell: ({ checkpointTimestamp }) => (
                  <Moment ms={fromSeconds(checkpointTimestamp)} brief />
                ),
              },
              { id: "what", header: "What", cell: saidOf },
              {
                id: "wallet",
                header: "Wallet",
                wideOnly: true,
                cell: ({ address }) =>
                  address === null ? null : (
                    <LongId text={address} what="address" explorer="account" />
                  ),
              },
            ]}
          />
        )}
      </Answered>
    </Card>
  );
};
