/** Roles: who may administer a token, since when and by which transaction, and the history of role changes. */
import { useSearch } from "@tanstack/react-router";
import { useMemo } from "react";
import { OfToken } from "../../blocks/answered.tsx";
import { Badge, PageHead } from "../../blocks/blocks.tsx";
import { timeColumn, transactionColumn, WalletId } from "../../blocks/columns.tsx";
import type { Column } from "../../blocks/data-table.tsx";
import { ListCard } from "../../blocks/list.tsx";
import { When } from "../../controls/when.tsx";
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { NOW, readAll, useGraph, useRead } from "../../data/queries.ts";
import { type Token, tokenName, useTokenTime } from "../../data/tokens.ts";
import { roleAllows, roleName } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
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

type WalletRoles = NonNullable<ResultOf<typeof rolesQuery>["walletRoles"]>[number];
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
  const history = useHistory(coinType);
  const wallets = roles.data?.walletRoles;
  const events = history.data?.rows;
  const held = useMemo(() => heldRoles(wallets ?? [], events ?? [], at), [wallets, events, at]);
  const newestFirst = useMemo(() => events?.toReversed() ?? [], [events]);
  return (
    <>
      <PageHead title="Roles" about={`Who may administer ${tokenName(token)}, and since when`} />
      <div className="mb-4">
        <When name="at" label="At" at={at} from={from} to={to} />
      </div>
      <div className="space-y-4">
        <ListCard
          title={wallets == null ? "Administrators" : administratorsText(wallets)}
          about="Addresses that may administer the token at this time"
          of={roles}
          what="The roles"
          lines={4}
          label="Administrators"
          columns={HELD}
          rows={() => held}
          keyOf={({ owner, role }) => `${owner} ${role}`}
          empty={{
            title: "No administrators",
            text: "Every role was revoked, or none was granted by then.",
          }}
        />
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

/** Counts wallets with a right: roles of other packages have no bit, and give none. */
const administratorsText = (wallets: readonly WalletRoles[]): string => {
  const count = wallets.filter(({ roleBits }) => roleBits !== 0).length;
  return `${countText(count)} ${count === 1 ? "administrator" : "administrators"}`;
};

type HeldRole = {
  readonly owner: string;
  readonly role: string;
  readonly bit: number;
  /** Whether it is the first row of its wallet. */
  readonly first: boolean;
  /** The newest grant by the time in view. */
  readonly since: Event | undefined;
};

/** @param until unix seconds; undefined: now */
const heldRoles = (
  wallets: readonly WalletRoles[],
  events: readonly Event[],
  until: string | undefined,
): readonly HeldRole[] =>
  wallets.flatMap(({ owner, roles }) =>
    roles.map((role, index) => ({
      owner,
      role,
      bit: events.find((event) => event.role === role)?.roleBit ?? 0,
      first: index === 0,
      since: events.findLast(
        (event) =>
          event.owner === owner &&
          event.role === role &&
          event.granted &&
          (until === undefined || Number(event.checkpointTimestamp) <= Number(until)),
      ),
    })),
  );

const HELD: readonly Column<HeldRole>[] = [
  {
    header: "Wallet",
    cell: ({ owner, first }) =>
      first ? (
        <WalletId address={owner} to="movements" />
      ) : (
        <span className="text-muted">same wallet</span>
      ),
  },
  {
    header: "Role",
    cell: ({ role, bit }) => (
      <span title={role}>
        {roleName(role, bit)}
        <span className="text-muted max-md:hidden">, {roleAllows(role, bit)}</span>
      </span>
    ),
  },
  {
    header: "Since",
    cell: ({ since }) => since && <Moment at={fromSeconds(since.checkpointTimestamp)} brief />,
  },
  transactionColumn(({ since }) => since && digestOf(since)),
];

const HISTORY: readonly Column<Event>[] = [
  timeColumn("Time", ({ checkpointTimestamp }) => fromSeconds(checkpointTimestamp)),
  {
    header: "Change",
    cell: ({ granted, role, roleBit }) => (
      <span className="inline-flex items-center gap-2">
        <Badge tone={granted ? "good" : "bad"}>{granted ? "granted" : "revoked"}</Badge>
        {roleName(role, roleBit)}
      </span>
    ),
  },
  { header: "Wallet", cell: ({ owner }) => <WalletId address={owner} /> },
  { header: "Signed by", wideOnly: true, cell: ({ signer }) => <WalletId address={signer} /> },
  transactionColumn(digestOf),
];

export default RolesPage;
