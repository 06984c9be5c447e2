/**
 * What a subscriber lacks of held coins: their events behind a place, which come after the release.
 *
 * A subscription to several coins goes on meanwhile. Its places then name what is missing, so that it is not lost when
 * the subscriber reconnects: `<place> <coin type> <place of this coin> …`.
 */
import type { HeldIn } from "../../projections/held-coins.ts";
import { badInput } from "../errors.ts";
import { show } from "../input.ts";
import { type EventLog, isBefore, type Placed } from "./topic.ts";
import { Hold, type Live } from "./watcher.ts";

/** By coin type: the place behind which events are missing. */
export type MissingPlaces<Place> = ReadonlyMap<string, Place>;

/** More coins are not held; bounds a place. */
const MOST_NAMED = 200;

/** Reads a place of a subscription to several coins. @throws BAD_USER_INPUT as `placeOf` does, or when it is cut short */
export const placeWithMissing = <Place>(
  text: string | null | undefined,
  placeOf: (text: string | null | undefined) => Place | undefined,
): { readonly after: Place | undefined; readonly missing: MissingPlaces<Place> } => {
  const [place, ...named] = text?.split(" ") ?? [];
  const missing = new Map<string, Place>();
  for (let at = 0; at < named.length; at += 2) {
    const [coinType = "", ofCoin] = named.slice(at, at + 2);
    const after = placeOf(ofCoin);
    if (after === undefined || missing.size >= MOST_NAMED) {
      throw badInput(
        `after must be the place of an event, as that event shows it; it is ${show(text ?? "")}`,
        { argument: "after", reason: "MALFORMED" },
      );
    }
    missing.set(coinType, after);
  }
  return { after: placeOf(place), missing };
};

type MissingOf<Place> = {
  readonly log: EventLog<unknown, Place>;
  /** Whether it follows several coins, whose events pass those of a held one. */
  readonly isAcross: boolean;
  readonly wants: (coinType: string) => boolean;
  /** As of the place where the subscription continues. */
  readonly known: MissingPlaces<Place>;
};

export const createMissing = <Place>({ log, isAcross, wants, known }: MissingOf<Place>) => {
  const missing = new Map(known);
  /** Coins that are released, and lack events from before the subscriber's place. */
  const late = new Set<string>();

  /** A place in the form of `after`. */
  const shown = (place: Place): string =>
    isAcross
      ? [log.show(place), ...[...missing].flatMap(([coin, after]) => [coin, log.show(after)])].join(
          " ",
        )
      : log.show(place);

  return {
    get isNone() {
      return missing.size === 0;
    },
    /** A coin whose events have to be read before any others, and the place behind which they are. */
    late: (): readonly [string, Place] | undefined =>
      missing.entries().find(([coinType]) => late.has(coinType)),
    /**
     * Notes the coins held when a page behind `place` was read.
     * @returns whether there is one in `late` now: the page has to be read again after it
     */
    released: (held: readonly HeldIn[], place: Place | undefined): boolean => {
      const now = new Set(held.map(({ coinType }) => coinType));
      for (const [coinType, after] of missing) {
        if (now.has(coinType)) continue;
        if (isAcross && isBefore(log, after, place)) late.add(coinType);
        else missing.delete(coinType);
      }
      return late.size > 0;
    },
    /**
     * Notes held coins whose first missing event lies before `place`, or before the end of the log.
     * @param place up to where events were read
     */
    begin: (held: readonly HeldIn[], place: Place | undefined, isEnd: boolean): readonly Hold[] => {
      const begun = held.flatMap((coin) => {
        const after = log.behind(coin.from - 1n);
        const before = missing.get(coin.coinType);
        const isKnown = before !== undefined && !isBefore(log, after, before);
        const isThere = isEnd || isBefore(log, after, place);
        if (!wants(coin.coinType) || isKnown || !isThere) return [];
        missing.set(coin.coinType, after);
        return [{ coin, after }];
      });
      // Without any event, all were read that there are before the hold.
      return begun.map(({ coin, after }) => new Hold(coin, log.show(after), shown(place ?? after)));
    },
    /** An event with the place that names what is missing. */
    named: <Row>({ place, live }: Placed<Row, Place>): Live<Row> =>
      isAcross && missing.size > 0 ? live.withPlace(shown(place)) : live,
    /** A missing event of a released coin, which comes while the subscriber stays where it is. */
    lateEvent: <Row>(
      coinType: string,
      { place: own, live }: Placed<Row, Place>,
      place: Place,
    ): Live<Row> => {
      missing.set(coinType, own);
      return live.withPlace(shown(place));
    },
    /** Ends the reading of a late coin. @param isHeld again, so that the rest is still missing */
    lateDone: (coinType: string, isHeld: boolean): void => {
      late.delete(coinType);
      if (!isHeld) missing.delete(coinType);
    },
  };
};
