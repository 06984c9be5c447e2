/** Movements and events of a token since a time. */
import { ask, graph, type ResultOf } from "../../data/ask.ts";
import { NOW, readAll, useRead } from "../../data/queries.ts";

const movedPage = graph(`query Moved($coinType: String!, $after: String) {
  tokenActivity(coinType: $coinType, after: $after, order: DESC, limit: 1000) {
    activityType amount checkpointTimestamp position
  }
}`);

const holderPage = graph(`query HolderNews($coinType: String!, $since: String!, $after: String) {
  holderEvents(coinType: $coinType, sinceTimestamp: $since, after: $after, limit: 1000) {
    eventId eventType holderId address groupId isFrozen checkpointTimestamp position
  }
}`);

const rolePage = graph(`query RoleNews($coinType: String!, $since: String!, $after: String) {
  roleEvents(coinType: $coinType, sinceTimestamp: $since, after: $after, limit: 1000) {
    eventId owner role roleBit granted signer checkpointTimestamp position
  }
}`);

type Moved = NonNullable<ResultOf<typeof movedPage>["tokenActivity"]>[number];
type HolderEvent = NonNullable<ResultOf<typeof holderPage>["holderEvents"]>[number];
type RoleEvent = NonNullable<ResultOf<typeof rolePage>["roleEvents"]>[number];

/** Events of the register and of roles, oldest first. */
export type Events = {
  readonly holderEvents: readonly HolderEvent[];
  readonly roleEvents: readonly RoleEvent[];
  /** Whether these are all; otherwise there are later ones. */
  readonly whole: boolean;
};

/** Pages of 1,000 that are read of each kind. */
const MAX_PAGES = 5;

export type Sum = { readonly count: number; readonly amount: bigint };

/** Sums by type of movement. `whole` is false when there were more than are read. */
export type Sums = {
  readonly minted: Sum;
  readonly burned: Sum;
  readonly transferred: Sum;
  readonly forced: Sum;
  /** Amounts that moved in each equal part of the time, oldest first. */
  readonly over: readonly bigint[];
  readonly whole: boolean;
};

/** Parts of the time that a trend has. */
const PARTS = 12;

/** Amounts that moved in equal parts of a time, unix seconds; `from` is excluded. */
export const partsOf = (
  movements: readonly Pick<Moved, "amount" | "checkpointTimestamp">[],
  from: number,
  to: number,
  count = PARTS,
): readonly bigint[] => {
  const parts = Array.from({ length: count }, () => 0n);
  for (const { amount, checkpointTimestamp } of movements) {
    const at = Number(checkpointTimestamp);
    if (at <= from) continue;
    const part = Math.min(
      count - 1,
      Math.floor(((at - from - 1) / Math.max(1, to - from)) * count),
    );
    parts[part] = (parts[part] ?? 0n) + BigInt(amount);
  }
  return parts;
};

/** Adds up movements after that second. */
export const sumUp = (
  movements: readonly Pick<Moved, "activityType" | "amount" | "checkpointTimestamp">[],
  since: number,
): Omit<Sums, "whole" | "over"> => {
  const of = (type: string): Sum => {
    const those = movements.filter(
      ({ activityType, checkpointTimestamp }) =>
        activityType === type && Number(checkpointTimestamp) > since,
    );
    return {
      count: those.length,
      amount: those.reduce((sum, { amount }) => sum + BigInt(amount), 0n),
    };
  };
  return {
    minted: of("mint"),
    burned: of("burn"),
    transferred: of("transfer"),
    forced: of("force_transfer"),
  };
};

/** @param since unix seconds, excluded */
export const useSince = (coinType: string, since: number) => {
  const moved = useRead(NOW, ["moved", coinType, since], async (asking): Promise<Sums> => {
    const { rows, whole } = await readAll(
      MAX_PAGES,
      async (after) => (await ask(movedPage, { coinType, after }, asking)).tokenActivity,
      ({ position }) => position,
      ({ checkpointTimestamp }) => Number(checkpointTimestamp) <= since,
    );
    const newest = Number(rows[0]?.checkpointTimestamp ?? since);
    const last = Math.max(newest, Math.floor(Date.now() / 1_000));
    // Where there are more, the time before those that were read is not known to be still.
    const from = whole ? since : Number(rows.at(-1)?.checkpointTimestamp ?? since);
    return { ...sumUp(rows, since), over: partsOf(rows, from, last), whole };
  });
  const events = useRead(
    NOW,
    ["events since", coinType, since],
    async (asking): Promise<Events> => {
      const variables = { coinType, since: String(since + 1) };
      const [holders, roles] = await Promise.all([
        readAll(
          MAX_PAGES,
          async (after) => (await ask(holderPage, { ...variables, after }, asking)).holderEvents,
          ({ position }) => position,
        ),
        readAll(
          MAX_PAGES,
          async (after) => (await ask(rolePage, { ...variables, after }, asking)).roleEvents,
          ({ position }) => position,
        ),
      ]);
      const whole = holders.whole && roles.whole;
      return { holderEvents: holders.rows, roleEvents: roles.rows, whole };
    },
  );
  return { moved, events };
};
