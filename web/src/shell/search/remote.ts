/** What a text means by the register and, for operators, by requests and deliveries: asked of the service. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { kindText } from "../../blocks/operator.tsx";
import type { OperatorSearch } from "../../data/answers.ts";
import { type Asking, ask, askByBody, graph, type ResultOf } from "../../data/ask.ts";
import type { Hit } from "../../data/hits.ts";
import { useSession } from "../../data/session.ts";
import { countText } from "../../shown/amount.ts";
import { dayText, fromSeconds, momentText } from "../../shown/moment.ts";
import { shortened } from "../../shown/shorten.ts";
import { type Here, tokenSearch, tokenTarget } from "./local.ts";

const searchQuery = graph(`query Search($text: String!, $limit: Int!) {
  search(text: $text, limit: $limit) {
    kind coinType symbol holderId address txDigest eventId checkpoint timestamp label
  }
}`);

type Found = NonNullable<ResultOf<typeof searchQuery>["search"]>[number];

/** Most hits of each kind. */
const MOST = 8;

/** Longest text that is searched, as the service bounds it. */
const MOST_CHARACTERS = 200;

/** Pause after a key, milliseconds: a text that is being typed is asked for once. */
const PAUSE_MS = 150;

/** An answer is as good as new for so long, milliseconds: who corrects a letter sees it at once. */
const FRESH_MS = 10_000;

type Answer = {
  /** What it was asked for. */
  readonly text: string;
  readonly found: readonly Found[];
  readonly operator: OperatorSearch | null;
};

const read = async (text: string, isOperator: boolean, asking: Asking): Promise<Answer> => {
  const [{ search }, operator] = await Promise.all([
    ask(searchQuery, { text, limit: MOST }, asking),
    isOperator
      ? askByBody<OperatorSearch>("/operator/search", { text, limit: MOST }, asking)
      : null,
  ]);
  return { text, found: search ?? [], operator };
};

/** A text, once it stayed the same for a moment. */
const useSettled = (text: string): string => {
  const [settled, setSettled] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), PAUSE_MS);
    return () => clearTimeout(timer);
  }, [text]);
  return settled;
};

/** The service's answer to a text; `data` is undefined while there is none to this text. */
export const useAnswer = (given: string) => {
  const { key, kind } = useSession();
  const text = given.trim();
  const settled = useSettled(text);
  const isOperator = kind === "operator";
  const isAsked = text !== "" && text.length <= MOST_CHARACTERS;
  const { data, error } = useQuery({
    queryKey: ["search", settled, isOperator],
    queryFn: ({ signal }) => read(settled, isOperator, { key, signal }),
    enabled: isAsked && settled === text,
    staleTime: FRESH_MS,
    gcTime: FRESH_MS,
  });
  const isOfThis = data?.text === text;
  return {
    data: isOfThis ? data : undefined,
    error: settled === text ? error : null,
    isPending: isAsked && !isOfThis && (settled !== text || error === null),
  };
};

/** Hits of an answer, those of the token in view first. */
export const remoteHits = ({ found, operator }: Answer, here: Here): readonly Hit[] => {
  const isOwn = ({ coinType }: Found) => coinType !== null && coinType === here.token?.coinType;
  return [
    ...found
      .toSorted((a, b) => Number(isOwn(b)) - Number(isOwn(a)))
      .flatMap((one) => hitOf(one, here)),
    ...(operator?.requests ?? []).map(
      (request): Hit => ({
        kind: "REQUEST",
        title: `${kindText(request.kind)} ${shortened(request.id, 8, 4)}`,
        about: `${request.asset}, ${dayText(Date.parse(request.createdAt))}`,
        path: `/requests/${request.id}`,
        search: {},
      }),
    ),
    ...(operator?.deliveries ?? []).map(
      (delivery): Hit => ({
        kind: "DELIVERY",
        title: `${kindText(delivery.type)} ${shortened(delivery.id, 11, 6)}`,
        about: dayText(Date.parse(delivery.createdAt)),
        path: "/deliveries",
        search: { delivery: delivery.id },
      }),
    ),
  ];
};

/**
 * Drops what a form alone suggested and the service does not know: a number that is no holder of the token in view.
 * Whole addresses and digests stay, as their views say what is not known of them.
 */
export const confirmed = (local: readonly Hit[], { found }: Answer): readonly Hit[] => {
  const holders = found.filter(({ kind }) => kind === "HOLDER");
  if (holders.length >= MOST) return local;
  return local.filter(
    ({ kind, path, search }) =>
      kind !== "HOLDER" ||
      holders.some(
        ({ holderId, coinType }) => path === `/holder/${holderId}` && search.token === coinType,
      ),
  );
};

const timeText = (timestamp: string | null): string =>
  timestamp === null ? "" : momentText(fromSeconds(timestamp));

const hitOf = (found: Found, here: Here): readonly Hit[] => {
  const { kind, coinType, symbol, holderId, address, txDigest, checkpoint, timestamp } = found;
  const { label, eventId } = found;
  const time = timeText(timestamp);
  const ofToken = coinType === null ? tokenSearch(here) : { token: coinType };
  if (kind === "HOLDER" && holderId !== null) {
    const title = `Holder ${holderId}`;
    const path = `/holder/${holderId}`;
    return [{ kind, title, label, about: symbol ?? "", path, search: ofToken }];
  }
  if (kind === "WALLET" && address !== null) {
    const title = shortened(address, 10, 6);
    return [{ kind, title, label, about: "", path: `/wallet/${address}`, search: ofToken }];
  }
  if ((kind === "TRANSACTION" || kind === "EVENT") && txDigest !== null) {
    const title =
      kind === "EVENT"
        ? `Event ${eventId?.split("-").at(-1)} of ${shortened(txDigest)}`
        : shortened(txDigest, 10, 6);
    return [{ kind, title, about: time, path: `/transaction/${txDigest}`, search: ofToken }];
  }
  if (kind === "TOKEN" && coinType !== null) {
    const title = symbol ?? coinType.split("::").at(-1) ?? coinType;
    return [{ kind, title, label, about: "", ...tokenTarget(coinType, here) }];
  }
  if (kind === "CHECKPOINT" && checkpoint !== null) {
    const title = `Checkpoint ${countText(checkpoint)}`;
    return [{ kind, title, about: time, path: "/proof", search: { ...ofToken, checkpoint } }];
  }
  if (kind === "DATE" && timestamp !== null) {
    const search = { ...ofToken, at: timestamp };
    return [{ kind, title: time, about: "Cap table then", path: "/cap-table", search }];
  }
  return [];
};
