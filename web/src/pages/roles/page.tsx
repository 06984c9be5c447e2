/** Who may administer a token, since when and by which transaction; and how that came to be. */
import { useQuery } from "@tanstack/react-query";
import { Link, useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { Answered } from "../../blocks/answered.tsx";
import { Badge, Card, Empty, PageHead } from "../../blocks/blocks.tsx";
import { DataTable } from "../../blocks/data-table.tsx";
import { OfToken } from "../../blocks/of-token.tsx";
import { WhenInAddress } from "../../blocks/when-in-address.tsx";
import { allPages } from "../../data/all-pages.ts";
import { ask } from "../../data/ask.ts";
import { graph, type ResultOf } from "../../data/graph.ts";
import { useTokenSearch } from "../../data/here.ts";
import { NOW, useGraph } from "../../data/queries.ts";
import { useSession } from "../../data/session.ts";
import { type Token, tokenLabel } from "../../data/tokens.ts";
import { roleAllows, roleName } from "../../register/role-names.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { countText } from "../../shown/amount.ts";
import { LongId, shortened } from "../../shown/copied.tsx";
import { fromSeconds } from "../../shown/moment.ts";
import { Moment } from "../../shown/shown.tsx";

const rolesQuery = graph(`query Roles($coinType: String!, $atTimestamp: String) {
  walletRoles(coinType: $coinType, atTimestamp: $atTimestamp) { owner roles roleBits }
}`);

const eventsQuery = graph(`query RoleHistory($coinType: String!, $after: String) {
  roleEvents(coinType: $coinType, after: $after, limit: 1000) {
    eventId owner role roleBit granted signer checkpointTimestamp position
  }
}`);

type Event = NonNullable<ResultOf<typeof eventsQuery>["roleEvents"]>[number];

const RolesPage = () => <OfToken>{(token) => <Roles token={token} />}</OfToken>;

const Roles = ({ token }: { readonly token: Token }) => {
  const { at } = useSearch({ from: "/roles" });
  const { coinType } = token;
  const { from, to } = useTokenTime(coinType);
  const roles = useGraph(
    rolesQuery,
    { coinType, atTimestamp: at ?? null },
    { past: at !== undefined },
  );
  const events = useRoleEvents(coinType);
  const told = useMemo(() => events.data ?? [], [events.data]);
  const newestFirst = useMemo(() => told.toReversed(), [told]);
  return (
    <>
      <PageHead
        title="Roles"
        about={`Who may administer ${token.name ?? tokenLabel(token)}, and how that came to be`}
      />
      <div className="mb-4">
        <WhenInAddress
          name="at"
          label="At"
          at={at === undefined ? undefined : Number(at)}
          from={from}
          to={to}
        />
      </div>
      <div className="space-y-4">
        <Card
          flush
          title={
            roles.data === undefined
              ? "Administrators"
              : `${countText(administrators(roles.data.walletRoles ?? []))} administrators`
          }
          about="Addresses that may administer the token at this time"
        >
          <Answered of={roles} what="The roles">
            {({ walletRoles }) => (
              <Administrators
                rows={walletRoles ?? []}
                events={told}
                until={at === undefined ? undefined : Number(at)}
              />
            )}
          </Answered>
        </Card>
        <Card
          flush
          title="History"
          about={
            told.length === 1_000
              ? "The first 1,000 changes, newest first"
              : "Every change, newest first"
          }
        >
          <Answered of={events} what="The history">
            {() => (
              <DataTable
                label="Changes of roles"
                rows={newestFirst}
                keyOf={({ eventId }) => eventId}
                empty={<Empty title="No role was ever granted" />}
                columns={[
                  {
                    id: "time",
                    header: "Time",
                    cell: (event) => <Moment ms={fromSeconds(event.checkpointTimestamp)} brief />,
                  },
                  {
                    id: "what",
                    header: "What",
                    cell: ({ granted, role, roleBit }) => (
                      <span className="inline-flex items-center gap-2">
                        <Badge tone={granted ? "good" : "bad"}>
                          {granted ? "granted" : "revoked"}
                        </Badge>
                        {roleName(role, roleBit)}
                      </span>
                    ),
                  },
                  {
                    id: "owner",
                    header: "Wallet",
                    cell: ({ owner }) => <LongId text={owner} what="address" explorer="account" />,
                  },
                  {
                    id: "signer",
                    header: "Signed by",
                    wideOnly: true,
                    cell: ({ signer }) => (
                      <LongId text={signer} what="address" explorer="account" />
                    ),
                  },
                  { id: "tx", header: "Transaction", wideOnly: true, cell: transactionOf },
                ]}
              />
            )}
          </Answered>
        </Card>
      </div>
    </>
  );
};

/** All of them: who may administer, and since when, is not known from a part. */
const useRoleEvents = (coinType: string) => {
  const { key } = useSession();
  return useQuery({
    queryKey: [NOW, "role events", coinType],
    queryFn: async ({ signal }) => {
      const { rows } = await allPages<Event>(
        MOST_PAGES,
        async (after) => (await ask(eventsQuery, { coinType, after }, { key, signal })).roleEvents,
        ({ position }) => position,
      );
      return rows;
    },
  });
};

const MOST_PAGES = 20;

/** An event's id begins with its transaction's digest. */
const transactionOf = ({ eventId }: Event) => {
  const digest = eventId.slice(0, eventId.lastIndexOf("-"));
  return <LongId text={digest} what="digest" explorer="transaction" />;
};

/** Wallets with a right: roles of other packages have no bit, and give none. */
const administrators = (rows: readonly { readonly roleBits: number }[]): number =>
  rows.filter(({ roleBits }) => roleBits !== 0).length;

const Administrators = ({
  rows,
  events,
  until,
}: {
  readonly rows: NonNullable<ResultOf<typeof rolesQuery>["walletRoles"]>;
  readonly events: readonly Event[];
  /** Unix seconds; now without it. */
  readonly until: number | undefined;
}) => {
  const kept = useTokenSearch();
  /** The newest grant of a role to a wallet by then: since when it has it. */
  const sinceOf = (owner: string, role: string): Event | undefined =>
    events.findLast(
      (event) =>
        event.owner === owner &&
        event.role === role &&
        event.granted &&
        (until === undefined || Number(event.checkpointTimestamp) <= until),
    );
  const held = rows.flatMap(({ owner, roles }) =>
    roles.map((role, index) => ({
      owner,
      role,
      // Every role that anybody has was given by an event, which knows its bit.
      bit: events.find((event) => event.role === role)?.roleBit ?? 0,
      first: index === 0,
      since: sinceOf(owner, role),
    })),
  );
  return (
    <DataTable
      label="Administrators"
      rows={held}
      keyOf={({ owner, role }) => `${owner} ${role}`}
      empty={
        <Empty title="Nobody may administer this token">
          Every role was revoked, or none was granted by then.
        </Empty>
      }
      columns={[
        {
          id: "owner",
          header: "Wallet",
          cell: ({ owner, first }) =>
            first ? (
              <LongId text={owner} what="address" explorer="account">
                <Link
                  to="/movements"
                  search={{ ...kept, wallet: owner }}
                  className="hover:underline"
                >
                  {shortened(owner, 8, 6)}
                </Link>
              </LongId>
            ) : (
              <span className="text-muted">the same wallet</span>
            ),
        },
        {
          id: "role",
          header: "Role",
          cell: ({ role, bit }) => (
            <span title={role}>
              {roleName(role, bit)}
              <span className="text-muted max-md:hidden">, {roleAllows(role, bit)}</span>
            </span>
          ),
        },
        {
          id: "since",
          header: "Since",
          cell: ({ since }) =>
            since === undefined ? (
              "–"
            ) : (
              <Moment ms={fromSeconds(since.checkpointTimestamp)} brief />
            ),
        },
        {
          id: "tx",
          header: "Transaction",
          wideOnly: true,
          cell: ({ since }) => (since === undefined ? "–" : transactionOf(since)),
        },
      ]}
    />
  );
};

export default RolesPage;
