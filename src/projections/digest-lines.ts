/**
 * Input of a pipeline's digest: a line of text for each row that a checkpoint wrote.
 *
 * A line is the RFC 8785 JSON of the listed names, numbers as strings, ended by LF. A checkpoint's
 * lines are ordered by kind (events, object states, balance changes, supplies, memberships, roles),
 * then by key. A changed object, membership or role has one line, `{"removed": key}` if it ended.
 * The lists are part of a pipeline's layout: changing one requires a new layout number
 * (docs/reference/formats.md repeats them for auditors).
 */
import { placeOf } from "./position.ts";

/** A kind of row: its place among kinds, its key, and its members. */
export type LineKind = {
  readonly order: number;
  readonly key: readonly string[];
  /** Ascending, as RFC 8785 requires. */
  readonly names: readonly string[];
};

/** `names` may be in any order. */
export const lineKind = (
  order: number,
  key: readonly string[],
  names: readonly string[],
): LineKind => ({
  order,
  key,
  names: names.toSorted(),
});

const EVENT_KEY = ["coinType", "position"] as const;
const EVENT = [...EVENT_KEY, "txDigest", "timestampMs"] as const;

export const LINES = {
  activity: lineKind(0, EVENT_KEY, [
    ...EVENT,
    "activityType",
    "amount",
    "fromAddress",
    "toAddress",
    "signer",
    "tokenObjectId",
  ]),
  holderEvent: lineKind(0, EVENT_KEY, [
    ...EVENT,
    "eventType",
    "holderId",
    "address",
    "groupId",
    "isFrozen",
  ]),
  roleEvent: lineKind(0, EVENT_KEY, [...EVENT, "owner", "role", "granted", "signer"]),
  token: lineKind(1, ["objectId"], ["objectId", "coinType", "owner", "balance", "version"]),
  grant: lineKind(
    1,
    ["objectId"],
    [
      "objectId",
      "coinType",
      "owner",
      "funder",
      "releaseScheduleId",
      "releaseCount",
      "delayUntilFirstReleaseMs",
      "periodBetweenReleasesMs",
      "initialReleasePortionBps",
      "commencementTimestampMs",
      "totalAmount",
      "tokensTransferred",
      "leftBalance",
      "version",
    ],
  ),
  change: lineKind(
    2,
    ["coinType", "owner", "position"],
    [...EVENT, "owner", "cause", "change", "balanceAfter"],
  ),
  supply: lineKind(3, ["coinType"], ["coinType", "supply"]),
  membership: lineKind(
    4,
    ["coinType", "address", "aspect"],
    ["coinType", "address", "aspect", "value"],
  ),
  role: lineKind(5, ["coinType", "owner", "role"], ["coinType", "owner", "role"]),
} as const satisfies Readonly<Record<string, LineKind>>;

export type DigestLine = {
  readonly checkpoint: bigint;
  /** Orders the lines of a checkpoint, by code unit. */
  readonly place: string;
  readonly text: string;
};

/** Row values by column name. */
type Values = Readonly<Record<string, unknown>>;

/** Digits of the largest u64; padded numbers sort as text. */
const DIGITS = 20;

const placeText = ({ order, key }: LineKind, row: Values): string =>
  `${order} ${key
    .map((name) => (name === "position" ? String(row[name]).padStart(DIGITS, "0") : row[name]))
    // Below every character of a key, so that a prefix sorts first.
    .join("\0")}`;

const json = (value: unknown): string => {
  if (value === null || value === undefined) return "null";
  if (typeof value === "boolean") return `${value}`;
  return typeof value === "string" ? JSON.stringify(value) : `"${value}"`;
};

const object = (names: readonly string[], row: Values): string =>
  `{${names.map((name) => `"${name}":${json(row[name])}`).join(",")}}`;

const removed = ({ key }: LineKind, row: Values): string => {
  const [only, ...others] = key;
  const named = others.length === 0 ? json(row[only ?? ""]) : object(key.toSorted(), row);
  return `{"removed":${named}}\n`;
};

/** Lines of rows with a position: events, balance changes. */
export const placedLines = (
  of: LineKind,
  rows: readonly (Values & { readonly position: bigint })[],
): DigestLine[] =>
  rows.map((row) => ({
    checkpoint: placeOf(row.position).checkpoint,
    place: placeText(of, row),
    text: `${object(of.names, row)}\n`,
  }));

/** Lines of rows with a checkpoint. */
export const checkpointLines = (
  of: LineKind,
  rows: readonly (Values & { readonly checkpoint: bigint })[],
): DigestLine[] =>
  rows.map((row) => ({
    checkpoint: row.checkpoint,
    place: placeText(of, row),
    text: `${object(of.names, row)}\n`,
  }));

/**
 * Lines of states over [`checkpoint`, `until`), from checkpoint `first`: one where a state begins,
 * one where it ends without a successor.
 */
export const stateLines = (
  of: LineKind,
  first: bigint,
  last: bigint,
  states: readonly (Values & { readonly checkpoint: bigint; readonly until?: bigint })[],
): DigestLine[] => {
  const within = (checkpoint: bigint) => checkpoint >= first && checkpoint <= last;
  const begun = states.filter(({ checkpoint }) => within(checkpoint));
  const lines = checkpointLines(of, begun);
  const isBegun = new Set(lines.map(({ checkpoint, place }) => `${checkpoint} ${place}`));
  for (const state of states) {
    const { until } = state;
    if (until === undefined || !within(until)) continue;
    const place = placeText(of, state);
    if (isBegun.has(`${until} ${place}`)) continue;
    lines.push({ checkpoint: until, place, text: removed(of, state) });
  }
  return lines;
};
