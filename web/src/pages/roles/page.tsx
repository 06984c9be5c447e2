/** Roles: who may do what with a token, since when, and the history of role changes. */
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { Answered, OfToken } from "../../blocks/answered.tsx";
import { Badge, Card, Cut, Empty, PageHead } from "../../blocks/blocks.tsx";
import { timeColumn, transactionColumn, WalletId } from "../../blocks/columns.tsx";
import type { Column } from "../../blocks/data-table.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { When } from "../../controls/when.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { momentVariables, useMomentMs } from "../../data/moment.ts";
import { NOW, readAll, useGraph, useRead } from "../../data/queries.ts";
import { type Token, tokenName, useTokenTime } from "../../data/tokens.ts";
import { roleName } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
import { fromSeconds } from "../../shown/moment.ts";
import { type HeldRole, type Person, RightsMatrix, RoleLines } from "./matrix.tsx";

const rolesQuery =
  graph(`query Roles($coinType: String!, $atCheckpoint: String, $atTimestamp: String) {
  walletRoles(
    coinType: $coinType, atCheckpoint: $atCheckpoint, atTimestamp: $atTimestamp
  ) { owner roles roleBits }
}`);

const eventsQuery = graph(`query RoleHistory($coinType: String!, $after: String) {
  roleEvents(coinType: $coinType, after: $after, limit: 1000) {
    eventId owner role roleBit granted signer checkpointTimestamp position
  }
}`);

type WalletRoles = NonNullable<ResultOf<typeof rolesQuery>["walletRoles"]>[number];
type Event = NonNullable<ResultOf<typeof eventsQuery>["roleEvents"]>[number];

const RolesPage = () => <OfToken>{(token) => <Roles token={token} />}</OfToken>;

const Roles = ({ token }: { readonly token: Token }) => {
  const { at } = useSearch({ from: "/roles" });
  const { coinType } = token;
  const { from, to } = useTokenTime(coinType);
  const roles = useGraph(
    rolesQuery,
    { coinType, ...momentVariables(at) },
    { past: at !== undefined },
  );
  const history = useHistory(coinType);
  const wallets = roles.data?.walletRoles;
  const events = history.data?.rows;
  const untilMs = useMomentMs(at);
  const people = useMemo(
    () => peopleOf(wallets ?? [], events ?? [], untilMs),
    [wallets, events, untilMs],
  );
  const administrators = useMemo(() => withRoles(people, ({ bit }) => bit !== 0), [people]);
  const foreign = useMemo(() => withRoles(people, ({ bit }) => bit === 0), [people]);
  const newestFirst = useMemo(() => events?.toReversed() ?? [], [events]);
  // Only the history tells which roles are of this package.
  const isSplit = events !== undefined || history.error !== null;
  const known = isSplit ? roles : { ...roles, data: undefined };
  return (
    <>
      <PageHead title="Roles" about={`Who may administer ${tokenName(token)}, and since when`} />
      <div className="mb-4">
        <When name="at" label="At" at={at} from={from} to={to} />
      </div>
      <div className="space-y-4">
        <Card
          flush
          title={wallets == null ? "Administrators" : administratorsText(administrators.length)}
          about="Who may do what at this time, since when"
        >
          <Answered of={known} what="The roles" lines={4}>
            {() =>
              administrators.length === 0 ? (
                <Empty title="No administrators">
                  Every role was revoked, or none was granted by then.
                </Empty>
              ) : (
                <RightsMatrix people={administrators} />
              )
            }
          </Answered>
        </Card>
        {foreign.length === 0 ? null : (
          <Card
            flush
            title="Roles of other packages"
            about="Recorded by the contract; they give no right in this token"
          >
            <RoleLines people={foreign} />
          </Card>
        )}
        <ListCard
          title="History"
          about={
            history.data?.whole === false
              ? `The first ${countText(newestFirst.length)} changes, newest first`
              : "All role changes, newest first"
          }
          of={history}
          what="The history"
          lines={4}
          label="Role changes"
          columns={HISTORY}
          rows={() => newestFirst}
          keyOf={({ eventId }) => eventId}
          empty={{ title: "No role was ever granted" }}
        />
      </div>
    </>
  );
};

const MAX_PAGES = 20;

/** The whole history: since when a role is held needs all of it. */
const useHistory = (coinType: string) =>
  useRead(NOW, ["role events", coinType], (asking) =>
    readAll(
      MAX_PAGES,
      async (after) => (await ask(eventsQuery, { coinType, after }, asking)).roleEvents,
      ({ position }) => position,
    ),
  );

/** An event's id begins with its transaction's digest. */
const digestOf = ({ eventId }: Event): string => eventId.slice(0, eventId.lastIndexOf("-"));

const administratorsText = (count: number): string =>
  `${countText(count)} ${count === 1 ? "administrator" : "administrators"}`;

/** @param untilMs undefined: now */
const peopleOf = (
  wallets: readonly WalletRoles[],
  events: readonly Event[],
  untilMs: number | undefined,
): readonly Person[] =>
  wallets.map(({ owner, roles }) => ({
    owner,
    held: roles.map((role) => {
      const granted = (event: Event) =>
        event.role === role && event.owner === owner && event.granted;
      const isBefore = ({ checkpointTimestamp }: Event) =>
        untilMs === undefined || fromSeconds(checkpointTimestamp) <= untilMs;
      return {
        role,
        bit: events.find((event) => event.role === role)?.roleBit ?? 0,
        since: events.findLast((event) => granted(event) && isBefore(event))?.checkpointTimestamp,
      };
    }),
  }));

/** The people with such roles, and only those roles of theirs. */
const withRoles = (
  people: readonly Person[],
  isWanted: (role: HeldRole) => boolean,
): readonly Person[] =>
  people
    .map(({ owner, held }) => ({ owner, held: held.filter(isWanted) }))
    .filter(({ held }) => held.length > 0);

const HISTORY: readonly Column<Event>[] = [
  timeColumn("Time", ({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
  {
    header: "Change",
    cell: ({ granted, role, roleBit }) => (
      <span className="inline-flex items-center gap-2">
        <Badge tone={granted ? "good" : "bad"}>{granted ? "granted" : "revoked"}</Badge>
        <Cut text={roleName(role, roleBit)} />
      </span>
    ),
  },
  { header: "Wallet", wideOnly: true, cell: ({ owner }) => <WalletName address={owner} /> },
  {
    header: "Signed by",
    wideOnly: true,
    cell: ({ signer }) => <WalletId address={signer} to="wallet" />,
  },
  transactionColumn(digestOf),
];

export default RolesPage;
