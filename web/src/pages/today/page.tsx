/** The first page of the morning: changes since yesterday's close, and what needs attention. */
import { Link, useSearch } from "@tanstack/react-router";
import { type ReactNode, useState } from "react";
import { type Answer, OfToken } from "../../blocks/answered.tsx";
import { Line, PageHead } from "../../blocks/blocks.tsx";
import { LinesCard } from "../../blocks/lines-card.tsx";
import { WalletName } from "../../blocks/names.tsx";
import { Button } from "../../controls/controls.tsx";
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
import { fromSeconds, yesterdaysClose } from "../../shown/moment.ts";
import { Ago, Moment } from "../../shown/shown.tsx";
import { AllTokens } from "./all-tokens.tsx";
import { Attention } from "./attention.tsx";
import { NextUnlocks } from "./next-unlocks.tsx";
import { type Events, useSince } from "./since.ts";
import { Trends } from "./trends.tsx";

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
        <Trends key={token.coinType} token={token} to={to} moved={moved} />
        <div className="grid grid-cols-1 items-start gap-4 lg:grid-cols-2">
          <div className="space-y-4">
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
              link={({ holderId, address }, text) => (
                <Link
                  to="/holder/$holder"
                  params={{ holder: holderId ?? address ?? "" }}
                  search={keepToken}
                  className={LINK}
                >
                  {text}
                </Link>
              )}
            />
          </div>
          <div className="space-y-4">
            <NextUnlocks token={token} />
            <AllTokens chosen={token} />
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
              link={(_, text) => (
                <Link to="/roles" search={keepToken} className={LINK}>
                  {text}
                </Link>
              )}
            />
          </div>
        </div>
      </div>
    </>
  );
};

/** Rows at first, and rows more on each click. */
const SHOWN = 8;
const MORE = 200;

/** Events, the newest first, which can be opened whole. A headline counts only what the list can show. */
const News = <Event extends { readonly eventId: string; readonly checkpointTimestamp: string }>({
  title,
  of,
  events,
  none,
  more,
  name,
  wallet,
  link,
}: {
  readonly title: string;
  readonly of: Answer<Events>;
  /** Oldest first. */
  readonly events: (all: Events) => readonly Event[];
  readonly none: string;
  readonly more: ReactNode;
  readonly name: (event: Event) => string;
  readonly wallet: (event: Event) => string | null;
  /** A row's name as a link to what it is about. */
  readonly link: (event: Event, text: string) => ReactNode;
}) => {
  const [shown, setShown] = useState(SHOWN);
  const count = of.data && events(of.data).length;
  const whole = of.data?.whole === true;
  return (
    <LinesCard
      title={count === undefined || !whole ? title : `${title}: ${countText(count)}`}
      about={
        of.data === undefined || whole
          ? "Newest first"
          : "The first 5,000 since then, the newest of them first; choose a later time for the others"
      }
      actions={<span className="text-xs text-accent hover:underline">{more}</span>}
      of={of}
      what="The events"
      rows={(all) => events(all).slice(-shown).reverse()}
      empty={{ title: none }}
      last={(all) => {
        const left = events(all).length - shown;
        if (left <= 0) return null;
        return (
          <li className="p-2 text-center">
            <Button look="quiet" onClick={() => setShown(shown + MORE)}>
              Show{" "}
              {left <= MORE ? `the other ${countText(left)}` : `${MORE} more of ${countText(left)}`}
            </Button>
          </li>
        );
      }}
    >
      {(event) => {
        const address = wallet(event);
        return (
          <Line
            key={event.eventId}
            name={link(event, name(event))}
            about={address === null ? undefined : <WalletName address={address} />}
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

const LINK = "hover:text-accent hover:underline";

export default TodayPage;
