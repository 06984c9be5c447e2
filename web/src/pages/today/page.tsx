/** The first page of the morning: changes since yesterday's close, and what needs attention. */
import { Link, useSearch } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { type Answer, Answered, OfToken } from "../../blocks/answered.tsx";
import { FIGURE_LINK, Figure, Figures, Line, PageHead } from "../../blocks/blocks.tsx";
import { WalletId } from "../../blocks/columns.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { When } from "../../controls/when.tsx";
import {
  keepToken,
  keepTokenWith,
  type Token,
  tokenName,
  useTokenTime,
} from "../../data/tokens.ts";
import { eventText, roleName } from "../../register/words.ts";
import { countText } from "../../shown/amount.ts";
import { Amount } from "../../shown/fitted.tsx";
import { fromSeconds, yesterdaysClose } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { Attention } from "./attention.tsx";
import { NextUnlocks } from "./next-unlocks.tsx";
import { type Events, type Sum, type Sums, useSince } from "./since.ts";

const TodayPage = () => <OfToken>{(token) => <Today token={token} />}</OfToken>;

const Today = ({ token }: { readonly token: Token }) => {
  const search = useSearch({ from: "/" });
  const { from, to } = useTokenTime(token.coinType);
  const usual = yesterdaysClose(to * 1_000);
  const since = search.since === undefined ? usual : Number(search.since);
  const { moved, events } = useSince(token.coinType, since);
  return (
    <>
      <PageHead
        title="Today"
        about={
          <>
            {tokenName(token)} since <Moment at={since * 1_000} />
          </>
        }
      />
      <div className="space-y-4">
        <Attention token={token} since={since} />
        <When
          name="since"
          label="Changes since"
          at={search.since}
          shown={since}
          from={from}
          to={to}
          nowLabel="Yesterday's close"
        />
        <div>
          <Answered of={moved} what="The movements" lines={3} card>
            {(sums) => <Moved token={token} sums={sums} />}
          </Answered>
        </div>
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <News
            title="Changes of the holder register"
            of={events}
            events={({ holderEvents }) => holderEvents}
            none="No holder was added, removed, frozen or regrouped"
            more={
              <Link to="/cap-table" search={keepTokenWith({ show: "compare" })}>
                New and exited holders
              </Link>
            }
            name={(event) => eventText(event)}
            wallet={({ address }) => address}
          />
          <div className="space-y-4">
            <News
              title="Role changes"
              of={events}
              events={({ roleEvents }) => roleEvents}
              none="No role changed"
              more={
                <Link to="/roles" search={keepToken}>
                  All roles
                </Link>
              }
              name={({ granted, role, roleBit }) =>
                `${granted ? "Granted" : "Revoked"}: ${roleName(role, roleBit)}`
              }
              wallet={({ owner }) => owner}
            />
            <NextUnlocks token={token} />
          </div>
        </div>
      </div>
    </>
  );
};

const Moved = ({ token, sums }: { readonly token: Token; readonly sums: Sums }) => {
  const figure = (label: string, kind: string, { count, amount }: Sum, signed = false) => (
    <Figure
      label={
        <Link to="/movements" search={keepTokenWith({ kind })} className={FIGURE_LINK}>
          {label}
        </Link>
      }
      value={<Amount units={amount} decimals={token.decimals} signed={signed} />}
      about={`${sums.whole ? "" : "at least "}${countText(count)} ${count === 1 ? "movement" : "movements"}`}
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

/** Rows of a list on this page. */
const SHOWN = 8;

/** The newest of some events. */
const News = <Event extends { readonly eventId: string; readonly checkpointTimestamp: string }>({
  title,
  of,
  events,
  none,
  more,
  name,
  wallet,
}: {
  readonly title: string;
  readonly of: Answer<Events>;
  /** Oldest first. */
  readonly events: (all: Events) => readonly Event[];
  readonly none: string;
  readonly more: ReactNode;
  readonly name: (event: Event) => string;
  readonly wallet: (event: Event) => string | null;
}) => {
  const count = of.data && events(of.data).length;
  return (
    <LinesCard
      title={
        count === undefined
          ? title
          : `${title}: ${countText(count)}${count >= 5_000 ? " or more" : ""}`
      }
      about="Newest first"
      actions={<span className="text-xs text-accent hover:underline">{more}</span>}
      of={of}
      what="The events"
      rows={(all) => events(all).slice(-SHOWN).reverse()}
      empty={{ title: none }}
    >
      {(event) => {
        const address = wallet(event);
        return (
          <Line
            key={event.eventId}
            name={name(event)}
            about={address === null ? undefined : <WalletId address={address} />}
          >
            <span className="text-xs text-muted">
              <Ago at={fromSeconds(event.checkpointTimestamp)} />
            </span>
          </Line>
        );
      }}
    </LinesCard>
  );
};

export default TodayPage;
