/** The first page of the morning: what happened since yesterday's close, and what needs somebody. */
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Card, Empty, Failed, Figure, Loading, PageHead } from "../../blocks/blocks.tsx";
import { When } from "../../controls/when.tsx";
import { useTokenSearch, without } from "../../data/here.ts";
import { type Token, tokenLabel, useToken, useTokens } from "../../data/tokens.ts";
import { saidOf } from "../../register/events.ts";
import { roleName } from "../../register/role-names.ts";
import { useTokenTime } from "../../register/token-time.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { fromSeconds, yesterdaysClose } from "../../shown/moment.ts";
import { Ago, Amount, Moment } from "../../shown/shown.tsx";
import { Attention } from "./attention.tsx";
import { NextUnlocks } from "./next-unlocks.tsx";
import { type HolderEvent, type RoleEvent, type Sum, useSince } from "./since.ts";

const TodayPage = () => {
  const tokens = useTokens();
  const token = useToken();
  if (tokens.isPending) return <Loading lines={8} />;
  if (tokens.error !== null) {
    return <Failed error={tokens.error} what="The tokens" onRetry={() => void tokens.refetch()} />;
  }
  if (token === null) {
    return (
      <Empty title="No token was seen yet">
        As soon as a token of the configured packages moves on the ledger, its register appears
        here.{" "}
        <Link to="/status" className="text-accent underline">
          Status
        </Link>{" "}
        says how far the ledger has been read.
      </Empty>
    );
  }
  return <OfToken token={token} />;
};

const OfToken = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/" });
  const navigate = useNavigate({ from: "/" });
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
        <When
          label="Changes since"
          at={search.since === undefined ? undefined : since}
          shown={since}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
          onChange={(chosen) =>
            void navigate({
              search:
                chosen === undefined
                  ? without(search, "since")
                  : { ...search, since: String(chosen) },
            })
          }
        />
        {moved.error !== null ? (
          <Card>
            <Failed error={moved.error} what="The movements" onRetry={() => void moved.refetch()} />
          </Card>
        ) : moved.data === undefined ? (
          <Card>
            <Loading lines={3} />
          </Card>
        ) : (
          <Moved token={token} sums={moved.data} whole={moved.data.whole} />
        )}
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          {told.error !== null ? (
            <Card>
              <Failed error={told.error} what="The events" onRetry={() => void told.refetch()} />
            </Card>
          ) : (
            <HolderNews events={told.data?.holderEvents ?? null} />
          )}
          <div className="space-y-4">
            <RoleNews events={told.data?.roleEvents ?? null} />
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
    <Link to="/movements" search={{ ...kept, kind }} className="group block min-w-0">
      <Figure
        label={label}
        value={
          <span className="group-hover:text-accent">
            <Amount units={amount} decimals={token.decimals} signed={signed} />
          </span>
        }
        about={`${whole ? "" : "at least "}${countText(count)} ${count === 1 ? "movement" : "movements"}`}
      />
    </Link>
  );
  return (
    <div className="grid grid-cols-2 gap-3 lg:grid-cols-4">
      {figure("Issued", "mint", sums.minted, true)}
      {figure("Burned", "burn", { ...sums.burned, amount: -sums.burned.amount }, true)}
      {figure("Transferred", "transfer", sums.transferred)}
      {figure("Moved by an administrator", "force_transfer", sums.forced)}
    </div>
  );
};

/** Rows of a list on this page: the rest is a link away. */
const SHOWN = 8;

const List = <Item,>({
  title,
  about,
  items,
  none,
  more,
  children,
}: {
  readonly title: string;
  readonly about: string;
  /** Oldest first; null while being read. */
  readonly items: readonly Item[] | null;
  readonly none: string;
  readonly more: ReactNode;
  readonly children: (item: Item) => ReactNode;
}) => (
  <Card
    flush
    title={
      items === null
        ? title
        : `${title}: ${countText(items.length)}${items.length >= 5_000 ? " or more" : ""}`
    }
    about={about}
    actions={more}
  >
    {items === null ? (
      <Loading />
    ) : items.length === 0 ? (
      <Empty title={none} />
    ) : (
      <ul className="divide-y divide-line border-t border-line text-sm">
        {items.slice(-SHOWN).reverse().map(children)}
      </ul>
    )}
  </Card>
);

const HolderNews = ({ events }: { readonly events: readonly HolderEvent[] | null }) => {
  const kept = useTokenSearch();
  return (
    <List
      title="Changes of the holder register"
      about="Newest first"
      items={events}
      none="Nobody came, left, was frozen or regrouped"
      more={
        <Link
          to="/cap-table"
          search={{ ...kept, show: "compare" }}
          className="text-xs text-accent hover:underline"
        >
          Who came, who left
        </Link>
      }
    >
      {(event) => (
        <li key={event.eventId} className="flex items-center justify-between gap-3 px-4 py-2">
          <span className="min-w-0">
            <span className="block truncate">{saidOf(event)}</span>
            {event.address === null ? null : (
              <span className="text-muted">
                <LongId text={event.address} what="address" explorer="account" />
              </span>
            )}
          </span>
          <span className="shrink-0 text-xs text-muted">
            <Ago ms={fromSeconds(event.checkpointTimestamp)} />
          </span>
        </li>
      )}
    </List>
  );
};

const RoleNews = ({ events }: { readonly events: readonly RoleEvent[] | null }) => {
  const kept = useTokenSearch();
  return (
    <List
      title="Role changes"
      about="Newest first"
      items={events}
      none="Nobody's rights changed"
      more={
        <Link to="/roles" search={kept} className="text-xs text-accent hover:underline">
          All roles
        </Link>
      }
    >
      {(event) => (
        <li key={event.eventId} className="flex items-center justify-between gap-3 px-4 py-2">
          <span className="min-w-0">
            <span className="block truncate">
              {event.granted ? "Given: " : "Taken: "}
              {roleName(event.role, event.roleBit)}
            </span>
            <span className="text-muted">
              <LongId text={event.owner} what="address" explorer="account" />
            </span>
          </span>
          <span className="shrink-0 text-xs text-muted">
            <Ago ms={fromSeconds(event.checkpointTimestamp)} />
          </span>
        </li>
      )}
    </List>
  );
};

export default TodayPage;
