/** The compared lists: queries, order of rows, and where a page can begin. */
import { grantProgress, tokenProgress } from "../../projections/balance-progress.ts";
import { holderProgress } from "../../projections/holder-events.ts";
import { FOR_BALANCES } from "../../projections/needed.ts";
import { followPosition } from "../../projections/position.ts";
import { roleProgress } from "../../projections/roles.ts";
import { activityProgress } from "../../projections/token-activity.ts";
import { numberIn, type Row, type RowPlace, rowShape, textIn } from "./served-rows.ts";

/** Bounds of a random start. */
export type Start = {
  /** A random number below `below`, stable within a run. */
  readonly random: (below: bigint) => bigint;
  readonly first: bigint;
  readonly through: bigint;
};

export type List = {
  /** Shown in the report. */
  readonly name: string;
  /** Pipelines that write its rows. */
  readonly pipelines: readonly string[];
  /** Takes those it needs of the variables `coinType`, `at`, `after` and `limit`. */
  readonly query: string;
  readonly field: string;
  /** Whether the list is a single page. */
  readonly isWhole?: boolean;
  /** Table of its positions, which ascend with the chain: gives access to the newest rows. */
  readonly inChainOrder?: string;
  place(of: Row): RowPlace;
  /** Identity of a row, independent of its other members. */
  key(of: Row): string;
  after(of: Row): string;
  /** Whether a row belongs to a checkpoint up to `through`; absent: all rows do. */
  isWithin?(of: Row, through: bigint): boolean;
  /** Cursor of a random page; absent where lists are short. */
  start?(from: Start): string | undefined;
  /** Cursor of the page after a position. */
  behind?(position: bigint): string | undefined;
  /** Splits a row whose content is one text into members, to report them individually. */
  apart?(of: Row): Row;
};

const behind = (position: bigint) => (position < 0n ? undefined : `${position}`);
const someCheckpoint = ({ random, first, through }: Start) => first + random(through - first + 1n);

/** Identity from these members. */
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

const EVENT = "coinType eventId checkpointTimestamp checkpointTimestampMs";

/** Sorts before every owner. */
const NOBODY = `0x${"0".repeat(64)}:GRANTS`;
const behindChanges = (position: bigint) => (position < 0n ? undefined : `${position}:${NOBODY}`);

const changes: List = {
  name: "balanceChanges",
  pipelines: FOR_BALANCES.map(({ name }) => name),
  inChainOrder: "token_changes",
  field: "balanceChanges",
  query: `query ($coinType: String!, $after: String, $limit: Int) {
    balanceChanges(coinType: $coinType, after: $after, limit: $limit) {
      position coinType owner part cause change balanceAfter txDigest checkpoint checkpointTimestamp
      checkpointTimestampMs cursor } }`,
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
    // Not JSON: reported as it is.
  }
  return { line: of.line ?? null };
};

/** Past and present states of a coin. */
const states = (
  kind: string,
  name: string,
  pipeline: string,
  start: List["start"],
  key: readonly string[],
  place: (line: Row) => RowPlace,
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

/** A list of current state that history serves too; compared at the answer's checkpoint. */
export type PresentList = Pick<List, "name" | "pipelines" | "field" | "place" | "key" | "after"> & {
  readonly isWhole?: boolean;
  /** GraphQL selection set. */
  readonly selection: string;
};

/** Lists of each coin, read at the last common checkpoint or up to it. */
export const LISTS: readonly List[] = [
  events({
    name: "tokenActivity",
    pipelines: [activityProgress.name],
    inChainOrder: "token_activity",
    fields: `${EVENT} checkpoint eventSeq decimals activityType amount fromAddress toAddress signer tokenObjectId txDigest`,
  }),
  changes,
  events({
    name: "holderEvents",
    pipelines: [holderProgress.name],
    inChainOrder: "holder_events",
    fields: `${EVENT} eventType holderId address groupId isFrozen`,
  }),
  events({
    name: "roleEvents",
    pipelines: [roleProgress.name],
    inChainOrder: "role_events",
    fields: `${EVENT} owner role roleBit granted signer`,
  }),
  states(
    "TOKEN",
    "token objects, past and present",
    tokenProgress.name,
    (from) => `${anyAddress(from)}||0`,
    ["objectId"],
    (line) => [textIn(line, "owner"), textIn(line, "objectId")],
  ),
  states(
    "GRANT",
    "grants, past and present",
    grantProgress.name,
    undefined,
    ["objectId"],
    (line) => [numberIn(line, "commencementTimestampMs"), textIn(line, "objectId")],
  ),
  states(
    "MEMBERSHIP",
    "holders, groups and freezes of wallets, past and present",
    holderProgress.name,
    (from) => `${anyAddress(from)}||0`,
    ["address", "aspect"],
    (line) => [textIn(line, "address"), textIn(line, "aspect")],
  ),
  states(
    "ROLE",
    "roles, past and present",
    roleProgress.name,
    (from) => `${anyAddress(from)}||0`,
    ["owner", "role"],
    (line) => [textIn(line, "owner"), textIn(line, "role")],
  ),
  states(
    "SUPPLY",
    "supplies",
    tokenProgress.name,
    (from) => `${someCheckpoint(from)}`,
    [],
    () => [],
  ),
];

/** Names, symbols and decimals of tokens. */
export const TOKENS: List = {
  name: "tokens",
  pipelines: [tokenProgress.name],
  field: "tokens",
  query: `query ($after: String, $limit: Int) {
    tokens(after: $after, limit: $limit) { coinType symbol name decimals firstCheckpoint } }`,
  place: (of) => [textIn(of, "coinType")],
  key: keyOf("coinType"),
  after: (of) => textIn(of, "coinType"),
  isWithin: (of, through) => numberIn(of, "firstCheckpoint") <= through,
};

/** Lists served from tables of current state. */
export const PRESENT: readonly PresentList[] = [
  {
    name: "tokenHolders",
    pipelines: FOR_BALANCES.map(({ name }) => name),
    field: "tokenHolders",
    selection: "owner balance timelockBalance timelocksIncluded",
    place: (of) => [-numberIn(of, "balance"), textIn(of, "owner")],
    key: keyOf("owner"),
    after: (of) => `${textIn(of, "balance")}:${textIn(of, "owner")}`,
  },
  {
    name: "tokenTimelocks",
    pipelines: [grantProgress.name],
    field: "tokenTimelocks",
    selection: `objectId owner funder releaseScheduleId releaseCount delayUntilFirstReleaseMs
      periodBetweenReleasesMs initialReleasePortionBps commencementTimestampMs totalAmount tokensTransferred leftBalance decimals`,
    place: (of) => [numberIn(of, "commencementTimestampMs"), textIn(of, "objectId")],
    key: keyOf("objectId"),
    after: (of) => `${textIn(of, "commencementTimestampMs")}:${textIn(of, "objectId")}`,
  },
  {
    name: "walletRoles",
    pipelines: [roleProgress.name],
    field: "walletRoles",
    isWhole: true,
    selection: "owner roleBits roles",
    place: (of) => [textIn(of, "owner")],
    key: keyOf("owner"),
    after: (of) => textIn(of, "owner"),
  },
];

/** GraphQL variables and arguments of such a list. */
export const askedOf = ({ isWhole }: PresentList) =>
  isWhole
    ? { variables: "$coinType: String!", given: "coinType: $coinType" }
    : {
        variables: "$coinType: String!, $after: String, $limit: Int",
        given: "coinType: $coinType, after: $after, limit: $limit",
      };

/** The same list at a past checkpoint. */
export const pastOf = ({ selection, ...list }: PresentList): List => {
  const { variables, given } = askedOf({ selection, ...list });
  return {
    ...list,
    query: `query (${variables}, $at: String!) {
      ${list.field}(${given}, atCheckpoint: $at) { ${selection} } }`,
  };
};
