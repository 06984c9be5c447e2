/** The text of each station: what happens, what a real integration does, and links to the result. */
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { Badge } from "../../blocks/blocks.tsx";
import type { Tour } from "../../data/answers.ts";
import { countText } from "../../shown/amount.ts";
import { LongId } from "../../shown/copied.tsx";
import { RightIcon } from "../../shown/icons.tsx";
import type { Station } from "./tour.ts";

type Text = {
  readonly title: string;
  readonly what: string;
  /** What a real integration does there. */
  readonly real: string;
  /** Ids of this tour; its id is that of its request. */
  readonly Ids: (props: { readonly tour: Tour; readonly id: string }) => ReactNode;
};

const Named = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <span className="mr-4 inline-flex flex-wrap items-center gap-x-1.5">
    <span className="text-muted">{name}</span>
    {children}
  </span>
);

const LINK = "text-accent underline";

export const STORY: Readonly<Record<Station, Text>> = {
  accepted: {
    title: "A signed request is accepted",
    what: "A caller asks the transfer agent to whitelist an investor's wallet. The request is signed with the caller's key; an unsigned one is refused before its body is read.",
    real: "your server signs path, time and body with its Ed25519 key, posts the request, and keeps the request id of the answer.",
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
    title: "It is queued, then started",
    what: "The investor's data are encrypted before they are stored, and never shown on these pages. Requests of one investor are processed one after another.",
    real: "nothing to do; to poll instead of waiting for the callback, read the request by its id.",
    Ids: ({ tour }) => {
      const step = tour.request.history.find(({ message }) => message.includes("belongs to"));
      return step === undefined ? null : <Named name="Found">{step.message}</Named>;
    },
  },
  transaction: {
    title: "A transaction is signed and submitted",
    what: "The transfer agent's key signs one transaction that puts the wallet into the group that may hold the token. It is stored before it is sent, so that it is never made twice.",
    real: "the issuer grants that key the whitelisting role on the token; the service does the rest.",
    Ids: ({ tour }) =>
      tour.txId === null ? null : (
        <Named name="Transaction">
          <LongId text={tour.txId} what="transaction" explorer="transaction" head={10} tail={6} />
        </Named>
      ),
  },
  checkpoint: {
    title: "The ledger includes it in a checkpoint",
    what: "The validators sign the checkpoint. Holderbook reads it and verifies the signature before it enters the log.",
    real: "nothing to do; anyone can check the same signature.",
    Ids: ({ tour }) =>
      tour.checkpoint === null ? null : (
        <Named name="Checkpoint">
          <Link
            to="/proof"
            search={{ checkpoint: tour.checkpoint, token: tour.coinType }}
            className={LINK}
          >
            {countText(tour.checkpoint)} and its proof
          </Link>
        </Named>
      ),
  },
  register: {
    title: "The register shows it",
    what: "The wallet now belongs to a holder and may hold the token. The transfer agent reports success only once the register shows it.",
    real: "your systems read the register over GraphQL, or subscribe to its events.",
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
    what: "The signed result goes to the URL that the caller registered. Without an answer it is retried with growing pauses.",
    real: "your server checks the signature over the raw bytes, answers with 2xx, and ignores an id it has seen before.",
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

/** Where each station happens; the caller is at both ends. */
const PLACES: readonly { readonly name: string; readonly stations: readonly Station[] }[] = [
  { name: "Your server", stations: ["accepted"] },
  { name: "Transfer agent", stations: ["queued", "transaction"] },
  { name: "Ledger", stations: ["checkpoint"] },
  { name: "Register", stations: ["register"] },
  { name: "Your server", stations: ["callback"] },
];

/** The places in order, and where the request is now. */
export const Place = ({
  station,
  under,
}: {
  readonly station: Station | null;
  readonly under: string;
}) => (
  <ol
    aria-label={`Progress: ${under}`}
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
