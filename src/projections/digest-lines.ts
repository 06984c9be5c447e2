/**
 * What a pipeline's digest is made of: lines of text, one for each row that a checkpoint gave it.
 *
 * A line is the RFC 8785 JSON of a row with the names listed here, numbers as strings, ended by LF. Lines
 * of a checkpoint are ordered by kind (events, object states, balance changes, supplies, memberships,
 * roles), then by the row's key. Objects, memberships and roles have a line when the checkpoint left them
 * changed, and `{"removed": key}` when it left none. The lists are part of a pipeline's layout: a change
 * of theirs is a new number of it (docs/reference/formats.md repeats them for auditors).
 */
import { createHash } from "node:crypto";
import { blake2b256 } from "../values/blake2b.ts";
import { placeOf } from "./position.ts";

/** A kind of row: where its lines stand among others, what its key is, and what they say. */
export type LineKind = {
  readonly order: number;
  readonly key: readonly string[];
  /** In ascending order, as RFC 8785 wants them. */
  readonly names: readonly string[];
};

/** Declares a kind of line; `names` in any order. */
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

/** Every kind of line, by what it is of. */
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

/** A line, the checkpoint it belongs to, and its place there. */
export type DigestLine = {
  readonly checkpoint: bigint;
  /** Lines of a checkpoint are ordered by this, code unit by code unit. */
  readonly place: string;
  readonly text: string;
};

/** Values of a row, by the names of its table's declaration. */
type Values = Readonly<Record<string, unknown>>;

/** Digits of the largest u64: numbers of one length sort as texts. */
const DIGITS = 20;

const placeText = ({ order, key }: LineKind, row: Values): string =>
  `${order} ${key
    .map((name) => (name === "position" ? String(row[name]).padStart(DIGITS, "0") : row[name]))
    // Below every character of a key, so that a shorter one comes first.
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

/** Lines of rows that stand for a moment: events, balance changes. */
export const placedLines = (
  of: LineKind,
  rows: readonly (Values & { readonly position: bigint })[],
): DigestLine[] =>
  rows.map((row) => ({
    checkpoint: placeOf(row.position).checkpoint,
    place: placeText(of, row),
    text: `${object(of.names, row)}\n`,
  }));

/** Lines of rows that say something about a checkpoint. */
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
 * Lines of states that stand for a while, [`checkpoint`, `until`), from checkpoint `first` on: one where a
 * state begins, one where it ends and no other begins.
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

/** Before the first checkpoint that wrote rows. */
export const NO_ROWS: Uint8Array = new Uint8Array(32);

/** The digest after a checkpoint that wrote rows. */
export type CheckpointDigest = { readonly checkpoint: bigint; readonly digest: Uint8Array };

/**
 * The digests that these lines lead to, checkpoint by checkpoint:
 * BLAKE2b-256(digest before, layout as u32, checkpoint as u64, SHA-256 of the lines), big-endian.
 * @param before the digest of the last checkpoint before them; `NO_ROWS` when there was none
 */
export const digestsOf = (
  before: Uint8Array,
  layout: number,
  lines: readonly DigestLine[],
): readonly CheckpointDigest[] => {
  const byCheckpoint = Map.groupBy(lines, ({ checkpoint }) => checkpoint);
  const checkpoints = [...byCheckpoint.keys()].sort((a, b) => (a < b ? -1 : 1));
  let digest = before;
  return checkpoints.map((checkpoint) => {
    const own = byCheckpoint.get(checkpoint) ?? [];
    own.sort((a, b) => (a.place < b.place ? -1 : 1));
    const sha = createHash("sha256");
    for (const { text } of own) sha.update(text);
    const rest = Buffer.alloc(44);
    rest.writeUInt32BE(layout, 0);
    rest.writeBigUInt64BE(checkpoint, 4);
    sha.digest().copy(rest, 12);
    digest = blake2b256(digest, rest);
    return { checkpoint, digest };
  });
};
