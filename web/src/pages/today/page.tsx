/** The first page of the morning: what happened since yesterday's close, and what needs somebody. */
import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Answered, type Asked } from "../../blocks/answered.tsx";
import { Card, Empty, FIGURE_LINK, Figure, Figures, PageHead } from "../../blocks/blocks.tsx";
import { OfToken } from "../../blocks/of-token.tsx";
import { WhenInAddress } from "../../blocks/when-in-address.tsx";
import { useTokenSearch } from "../../data/here.ts";
import { type Token, tokenLabel } from "../../data/tokens.ts";
import { saidOf } from "../../register/events.ts";
import { roleName } from "../../register/role-names.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { Amount } from "../../shown/fitted.tsx";
import { fromSeconds, yesterdaysClose } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { Attention } from "./attention.tsx";
import { NextUnlocks } from "./next-unlocks.tsx";
import { type Sum, type Told, useSince } from "./since.ts";

const TodayPage = () => <OfToken>{(token) => <Today token={token} />}</OfToken>;

const Today = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/" });
  const { from, to } = useTokenTime(token.coinType);
  const usual = yesterdaysClose(to * 1_000);
  const since = search.since === undefined ? usual : Number(search.since);
  const { moved, told } = useSince(token.coinType, since);
  return (
    <>
      <PageHead
        title="Today"
        about={
          <>
            {token.name ?? tokenLabel(token)} since <Moment ms={since * 1_000} />
          </>
        }
      />
      <div className="space-y-4">
        <Attention token={token} since={since} />
        <WhenInAddress
          name="since"
          label="Changes since"
          at={search.since === undefined ? undefined : since}
          shown={since}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
        />
        <div>
          <Answered of={moved} what="The movements" lines={3} card>
            {(sums) => <Moved token={token} sums={sums} whole={sums.whole} />}
          </Answered>
        </div>
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <HolderNews asked={told} />
          <div className="space-y-4">
            <RoleNews asked={told} />
            <NextUnlocks token={token} />
          </div>
        </div>
      </div>
    </>
  );
};

const Moved = ({
  token,
  sums,
  whole,
}: {
  readonly token: Token;
  readonly sums: Readonly<Record<"minted" | "burned" | "transferred" | "forced", Sum>>;
  readonly whole: boolean;
}) => {
  const kept = useTokenSearch();
  const figure = (label: string, kind: string, { count, amount }: Sum, signed = false) => (
    <Figure
      label={
        <Link to="/movements" search={{ ...kept, kind }} className={FIGURE_LINK}>
          {label}
        </Link>
      }
      value={<Amount units={amount} decimals={token.decimals} signed={signed} />}
      about={`${whole ? "" : "at least "}${countText(count)} ${count === 1 ? "movement" : "movements"}`}
    />
  );
  return (
    <Figures>
      {figure("Issued", "mint", sums.minted, true)}
      {figure("Burned", "burn", { ...sums.burned, amount: -sums.burned.amount }, true)}
      {figure("Transferred", "transfer", sums.transferred)}
      {figure("Moved by an administrator", "force_transfer", sums.forced)}
    </Figures>
  );
};

/** Rows of a list on this page: the rest is a link away. */
const SHOWN = 8;

const List = <Item,>({
  title,
  about,
  asked,
  items,
  none,
  more,
  children,
}: {
  readonly title: string;
  readonly about: string;
  readonly asked: Asked<Told>;
  /** Which of what was told, oldest first. */
  readonly items: (told: Told) => readonly Item[];
  readonly none: string;
  readonly more: ReactNode;
  readonly children: (item: Item) => ReactNode;
}) => {
  const count = asked.data === undefined ? null : items(asked.data).length;
  return (
    <Card
      flush
      title={
        count === null ? title : `${title}: ${countText(count)}${count >= 5_000 ? " or more" : ""}`
      }
      about={about}
      actions={more}
    >
      <Answered of={asked} what="The events">
        {(told) =>
          items(told).length === 0 ? (
            <Empty title={none} />
          ) : (
            <ul className="divide-y divide-line border-t border-line text-sm">
              {items(told).slice(-SHOWN).reverse().map(children)}
            </ul>
          )
        }
      </Answered>
    </Card>
  );
};

const News = ({
  wallet,
  at,
  children,
}: {
  readonly wallet: string | null;
  /** Unix seconds. */
  readonly at: string;
  readonly children: ReactNode;
}) => (
  <li className="flex items-center justify-between gap-3 px-4 py-2">
    <span className="min-w-0">
      <span className="block truncate">{children}</span>
      {wallet === null ? null : (
        <span className="text-muted">
          <LongId text={wallet} what="address" explorer="account" />
        </span>
      )}
    </span>
    <span className="shrink-0 text-xs text-muted">
      <Ago ms={fromSeconds(at)} />
    </span>
  </li>
);

const HolderNews = ({ asked }: { readonly asked: Asked<Told> }) => {
  const kept = useTokenSearch();
  return (
    <List
      title="Changes of the holder register"
      about="Newest first"
      asked={asked}
      items={({ holderEvents }) => holderEvents}
      none="No holder was added, removed, frozen or regrouped"
      more={
        <Link
          to="/cap-table"
          search={{ ...kept, show: "compare" }}
          className="text-xs text-accent hover:underline"
        >
          New and exited holders
        </Link>
      }
    >
      {(event) => (
        <News key={event.eventId} wallet={event.address} at={event.checkpointTimestamp}>
          {saidOf(event)}
        </News>
      )}
    </List>
  );
};

const RoleNews = ({ asked }: { readonly asked: Asked<Told> }) => {
  const kept = useTokenSearch();
  return (
    <List
      title="Role changes"
      about="Newest first"
      asked={asked}
      items={({ roleEvents }) => roleEvents}
      none="No role changed"
      more={
        <Link to="/roles" search={kept} className="text-xs text-accent hover:underline">
          All roles
        </Link>
      }
    >
      {(event) => (
        <News key={event.eventId} wallet={event.owner} at={event.checkpointTimestamp}>
          {event.granted ? "Granted: " : "Revoked: "}
          {roleName(event.role, event.roleBit)}
        </News>
      )}
    </List>
  );
};

export default TodayPage;
