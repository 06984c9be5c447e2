/**
 * What is compared of two deployments, list by list: the question that is put to both, the order of the
 * rows, and where in the list a page can begin.
 */
import { followPosition } from "../projections/position.ts";
import { numberIn, type Place, type Row, rowShape, textIn } from "./served-rows.ts";

/** What starts are chosen from. */
export type Start = {
  /** A number below another, the same for the same run. */
  readonly random: (below: bigint) => bigint;
  readonly first: bigint;
  readonly through: bigint;
};

export type List = {
  /** As the report names it. */
  readonly name: string;
  /** Pipelines that write its rows. */
  readonly pipelines: readonly string[];
  /** With the variables that it needs of `coinType`, `at`, `after` and `limit`. */
  readonly query: string;
  readonly field: string;
  /** Whether all of it is one page. */
  readonly isWhole?: boolean;
  /** The table whose positions its rows have: they ascend with the chain, and the newest can be found. */
  readonly inChainOrder?: string;
  place(of: Row): Place;
  /** What a row is of: one with other members is the same row. */
  key(of: Row): string;
  after(of: Row): string;
  /** Whether a row is of no later checkpoint; every row is unless given. */
  isWithin?(of: Row, through: bigint): boolean;
  /** A page that begins anywhere; absent where lists are short. */
  start?(from: Start): string | undefined;
  /** A page that begins behind a position. */
  behind?(position: bigint): string | undefined;
  /** Members that make a row of it, where these are one text: as they are shown, one by one. */
  apart?(of: Row): Row;
};

const behind = (position: bigint) => (position < 0n ? undefined : `${position}`);
const someCheckpoint = ({ random, first, through }: Start) => first + random(through - first + 1n);

/** Members of a row with their values. */
const keyOf =
  (...names: readonly string[]) =>
  (of: Row): string =>
    names.map((name) => `${name} ${of[name]}`).join(", ");

type Of = Pick<List, "name" | "pipelines" | "inChainOrder"> & { readonly fields: string };

/** Events of a coin, by position. */
const events = ({ fields, ...of }: Of): List => ({
  ...of,
  field: of.name,
  query: `query ($coinType: String!, $after: String, $limit: Int) {
    ${of.name}(coinType: $coinType, after: $after, limit: $limit) { position ${fields} } }`,
  place: (row) => [numberIn(row, "position")],
  key: keyOf("position"),
  after: (row) => textIn(row, "position"),
  isWithin: (row, through) => numberIn(row, "position") <= followPosition(through),
  start: (from) => behind(followPosition(someCheckpoint(from) - 1n)),
  behind,
});

const EVENT = "coinType eventId checkpointTimestampMs";

/** Before every part of every owner. */
const NOBODY = `0x${"0".repeat(64)}:GRANTS`;
const behindChanges = (position: bigint) => (position < 0n ? undefined : `${position}:${NOBODY}`);

const changes: List = {
  name: "balanceChanges",
  pipelines: ["shared_token_objects", "timelock_objects"],
  inChainOrder: "token_changes",
  field: "balanceChanges",
  query: `query ($coinType: String!, $after: String, $limit: Int) {
    balanceChanges(coinType: $coinType, after: $after, limit: $limit) {
      position coinType owner part cause change balanceAfter txDigest checkpointTimestampMs cursor } }`,
  place: (of) => [
    numberIn(of, "position"),
    textIn(of, "owner"),
    of.part === "TOKENS" ? 0n : 1n,
    textIn(of, "part"),
  ],
  key: keyOf("position", "owner", "part"),
  after: (of) => textIn(of, "cursor"),
  isWithin: (of, through) => numberIn(of, "position") <= followPosition(through),
  start: (from) => behindChanges(followPosition(someCheckpoint(from) - 1n)),
  behind: behindChanges,
};

const anyAddress = ({ random }: Start) =>
  `0x${random(2n ** 256n)
    .toString(16)
    .padStart(64, "0")}`;

const lineOf = (of: Row): Row => {
  try {
    const read = rowShape.safeParse(JSON.parse(textIn(of, "line")));
    if (read.success) return read.data;
  } catch {
    // No JSON: shown as it is.
  }
  return { line: of.line ?? null };
};

/** States of a coin, range by range. */
const states = (
  kind: string,
  name: string,
  pipeline: string,
  start: List["start"],
  key: readonly string[],
  place: (line: Row) => Place,
): List => ({
  name,
  pipelines: [pipeline],
  field: "stateRanges",
  query: `query ($coinType: String!, $at: String!, $after: String, $limit: Int) {
    stateRanges(kind: ${kind}, coinType: $coinType, atCheckpoint: $at, after: $after, limit: $limit) {
      line checkpoint until cursor } }`,
  place: (of) => [...place(lineOf(of)), numberIn(of, "checkpoint")],
  key: (of) => keyOf(...key, "checkpoint")({ ...lineOf(of), checkpoint: of.checkpoint ?? null }),
  after: (of) => textIn(of, "cursor"),
  apart: (of) => ({ ...lineOf(of), checkpoint: of.checkpoint ?? null, until: of.until ?? null }),
  ...(start && { start }),
});

/**
 * A list that can be asked for as it is now, and as it was. Now is compared with what it was at the checkpoint that
 * the answer is of.
 */
export type PresentList = Pick<List, "name" | "pipelines" | "field" | "place" | "key" | "after"> & {
  readonly isWhole?: boolean;
  /** What is selected, after the arguments. */
  readonly selection: string;
};

/** Lists of each coin that are read as of the last common checkpoint, or up to it. */
export const LISTS: readonly List[] = [
  events({
    name: "tokenActivity",
    pipelines: ["token_activity"],
    inChainOrder: "token_activity",
    fields: `${EVENT} activityType amount fromAddress toAddress signer tokenObjectId txDigest`,
  }),
  changes,
  events({
    name: "holderEvents",
    pipelines: ["holder_lifecycle"],
    inChainOrder: "holder_events",
    fields: `${EVENT} eventType holderId address groupId isFrozen`,
  }),
  events({
    name: "roleEvents",
    pipelines: ["role_changes"],
    inChainOrder: "role_events",
    fields: `${EVENT} owner role roleBit granted signer`,
  }),
  states(
    "TOKEN",
    "token objects, past and present",
    "shared_token_objects",
    (from) => `${anyAddress(from)}||0`,
    ["objectId"],
    (line) => [textIn(line, "owner"), textIn(line, "objectId")],
  ),
  states(
    "GRANT",
    "grants, past and present",
    "timelock_objects",
    undefined,
    ["objectId"],
    (line) => [numberIn(line, "commencementTimestampMs"), textIn(line, "objectId")],
  ),
  states(
    "MEMBERSHIP",
    "holders, groups and freezes of wallets, past and present",
    "holder_lifecycle",
    (from) => `${anyAddress(from)}||0`,
    ["address", "aspect"],
    (line) => [textIn(line, "address"), textIn(line, "aspect")],
  ),
  states(
    "ROLE",
    "roles, past and present",
    "role_changes",
    (from) => `${anyAddress(from)}||0`,
    ["owner", "role"],
    (line) => [textIn(line, "owner"), textIn(line, "role")],
  ),
  states(
    "SUPPLY",
    "supplies",
    "shared_token_objects",
    (from) => `${someCheckpoint(from)}`,
    [],
    () => [],
  ),
];

/** The tokens themselves: what they are called. */
export const TOKENS: List = {
  name: "tokens",
  pipelines: ["shared_token_objects"],
  field: "tokens",
  query: `query ($after: String, $limit: Int) {
    tokens(after: $after, limit: $limit) { coinType symbol name decimals firstCheckpoint } }`,
  place: (of) => [textIn(of, "coinType")],
  key: keyOf("coinType"),
  after: (of) => textIn(of, "coinType"),
  isWithin: (of, through) => numberIn(of, "firstCheckpoint") <= through,
};

/** Lists that are served from tables of the present. */
export const PRESENT: readonly PresentList[] = [
  {
    name: "tokenHolders",
    pipelines: ["shared_token_objects", "timelock_objects"],
    field: "tokenHolders",
    selection: "owner balance timelockBalance timelocksIncluded",
    place: (of) => [-numberIn(of, "balance"), textIn(of, "owner")],
    key: keyOf("owner"),
    after: (of) => `${textIn(of, "balance")}:${textIn(of, "owner")}`,
  },
  {
    name: "tokenTimelocks",
    pipelines: ["timelock_objects"],
    field: "tokenTimelocks",
    selection: `objectId owner funder releaseScheduleId releaseCount delayUntilFirstReleaseMs
      periodBetweenReleasesMs initialReleasePortionBps commencementTimestampMs totalAmount tokensTransferred leftBalance`,
    place: (of) => [numberIn(of, "commencementTimestampMs"), textIn(of, "objectId")],
    key: keyOf("objectId"),
    after: (of) => `${textIn(of, "commencementTimestampMs")}:${textIn(of, "objectId")}`,
  },
  {
    name: "walletRoles",
    pipelines: ["role_changes"],
    field: "walletRoles",
    isWhole: true,
    selection: "owner roleBits roles",
    place: (of) => [textIn(of, "owner")],
    key: keyOf("owner"),
    after: (of) => textIn(of, "owner"),
  },
];

/** Variables and arguments of such a list, whether or not it has pages. */
export const askedOf = ({ isWhole }: PresentList) =>
  isWhole
    ? { variables: "$coinType: String!", given: "coinType: $coinType" }
    : {
        variables: "$coinType: String!, $after: String, $limit: Int",
        given: "coinType: $coinType, after: $after, limit: $limit",
      };

/** The same list as it was at a checkpoint. */
export const pastOf = ({ selection, ...list }: PresentList): List => {
  const { variables, given } = askedOf({ selection, ...list });
  return {
    ...list,
    query: `query (${variables}, $at: String!) {
      ${list.field}(${given}, atCheckpoint: $at) { ${selection} } }`,
  };
};
