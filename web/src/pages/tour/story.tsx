/** What each station of the tour is, what a real integration does there, and where it can be looked at. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Badge } from "../../blocks/blocks.tsx";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { RightIcon } from "../../shown/icons.tsx";
import type { Station, Tour } from "./tour.ts";

type Told = {
  readonly title: string;
  readonly what: string;
  /** What a real integration does there. */
  readonly real: string;
  /** What there is to see of this very tour; its id is that of its request. */
  readonly Ids: (props: { readonly tour: Tour; readonly id: string }) => ReactNode;
};

const Named = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <span className="mr-4 inline-flex flex-wrap items-center gap-x-1.5">
    <span className="text-muted">{name}</span>
    {children}
  </span>
);

const LINK = "text-accent underline";

export const STORY: Readonly<Record<Station, Told>> = {
  accepted: {
    title: "A signed request is accepted",
    what: "A caller asks the transfer agent to whitelist the wallet of an investor. The request is signed with the caller's key; whoever cannot sign is refused before anything is read.",
    real: "your server signs path, time and body with its Ed25519 key, posts it, and keeps the request id of the answer.",
    Ids: ({ tour, id }) => (
      <>
        <Named name="Wallet">
          <LongId text={tour.wallet} what="wallet" explorer="account" head={10} tail={6} />
        </Named>
        <Named name="Asset">{tour.asset}</Named>
        <Named name="Request">
          <Link
            to="/requests/$id"
            params={{ id }}
            search={{ token: tour.coinType }}
            className={LINK}
          >
            see its steps
          </Link>{" "}
          <Badge>operator key</Badge>
        </Named>
      </>
    ),
  },
  queued: {
    title: "It is queued, then taken up",
    what: "The investor's data are sealed before they are stored, and are never shown on these pages. Requests of one investor are worked on one after another.",
    real: "nothing to do; ask for the request by its id if you do not want to wait for the callback.",
    Ids: ({ tour }) => {
      const said = tour.history.find(({ message }) => message.includes("belongs to"));
      return said === undefined ? null : <Named name="Found">{said.message}</Named>;
    },
  },
  transaction: {
    title: "A transaction is signed and submitted",
    what: "The transfer agent's own key signs one transaction that puts the wallet into the group of those who may hold the token. It is written down before it is sent, so that it is never made twice.",
    real: "the issuer gives that key the whitelisting role on the token; everything else stays with the service.",
    Ids: ({ tour }) =>
      tour.txId === null ? null : (
        <Named name="Transaction">
          <LongId text={tour.txId} what="transaction" explorer="transaction" head={10} tail={6} />
        </Named>
      ),
  },
  checkpoint: {
    title: "The ledger puts it into a checkpoint",
    what: "The validators sign the checkpoint together. Holderbook reads it and verifies their signature before anything of it enters the log.",
    real: "nothing to do; whoever doubts the register checks the same signature.",
    Ids: ({ tour }) =>
      tour.checkpoint === null ? null : (
        <Named name="Checkpoint">
          <Link
            to="/proof"
            search={{ checkpoint: tour.checkpoint, token: tour.coinType }}
            className={LINK}
          >
            {countText(tour.checkpoint)}, and what proves it
          </Link>
        </Named>
      ),
  },
  register: {
    title: "The register shows it",
    what: "The wallet belongs to a holder now and may hold the token. Only when its own register says so does the transfer agent call the request a success.",
    real: "your systems read the register by GraphQL, or follow its events as they happen.",
    Ids: ({ tour }) =>
      tour.holderEvent === null ? null : (
        <>
          <Named name="Event">
            <code className="text-xs">{tour.holderEvent.eventType}</code>
            {tour.holderEvent.groupId === null ? null : ` group ${tour.holderEvent.groupId}`}
          </Named>
          <Named name="Holder">
            <Link
              to="/holder/$holder"
              params={{ holder: tour.wallet }}
              search={{ token: tour.coinType }}
              className={LINK}
            >
              see the wallet in the register
            </Link>
          </Named>
        </>
      ),
  },
  callback: {
    title: "A signed callback tells the caller",
    what: "The result goes to the address that the caller registered, signed by the service. Had nobody answered, it would be sent again and again, with growing pauses.",
    real: "your server checks the signature over the bytes as they came, answers with 2xx, and ignores an id it has seen.",
    Ids: ({ tour }) =>
      tour.delivery === null ? null : (
        <Named name="Delivered">
          at{" "}
          {tour.delivery.attempts === 1 ? "the first attempt" : `attempt ${tour.delivery.attempts}`}
          ,{" "}
          <Link
            to="/deliveries"
            search={{ delivery: tour.delivery.id, token: tour.coinType }}
            className={LINK}
          >
            see the attempts
          </Link>{" "}
          <Badge>operator key</Badge>
        </Named>
      ),
  },
};

/** Where each station happens; the caller is both ends of the circle. */
const PLACES: readonly { readonly name: string; readonly stations: readonly Station[] }[] = [
  { name: "Your server", stations: ["accepted"] },
  { name: "Transfer agent", stations: ["queued", "transaction"] },
  { name: "Ledger", stations: ["checkpoint"] },
  { name: "Register", stations: ["register"] },
  { name: "Your server", stations: ["callback"] },
];

/** The circle, and where on it the request is. */
export const Place = ({
  station,
  under,
}: {
  readonly station: Station | null;
  readonly under: string;
}) => (
  <ol
    aria-label={`The circle, ${under}`}
    className="flex flex-wrap items-center gap-x-1.5 gap-y-2 text-sm"
  >
    {PLACES.map(({ name, stations }, index) => {
      const here = station !== null && stations.includes(station);
      return (
        <li key={stations.join()} className="inline-flex items-center gap-1.5">
          {index === 0 ? null : (
            <span className="text-muted">
              <RightIcon />
            </span>
          )}
          <span
            aria-current={here ? "step" : undefined}
            className={`rounded-full border px-3 py-1 transition-colors duration-700 ${here ? "border-accent bg-accent-soft font-medium text-accent" : "border-line bg-surface text-muted"}`}
          >
            {name}
          </span>
        </li>
      );
    })}
  </ol>
);
