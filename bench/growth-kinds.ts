/** The kinds of request that the growth bench measures, by the tables that grow for them. */

import {
  BUSY_OBJECTS,
  BUSY_WALLET,
  checkpointOfRow,
  digestOfRow,
  type Fill,
  type GrowingTable,
  holderPlace,
  ownerOfObject,
  positionOfRow,
  RARE_CAUSE,
  RARE_TYPE,
  ROWS,
  secondOfRow,
  wallet,
} from "./graphql-rows.ts";
import type { QueryName, Variables } from "./graphql-servers.ts";
import { FILLS, FREQUENT_WORD, labelWord } from "./growth-fills.ts";

/** A kind of request: arguments for a row of `count`, from 0, different in every request. */
export type Kind = {
  readonly label: string;
  readonly name: QueryName;
  readonly ask: (row: number, count: number) => Variables;
};

const pages = (name: QueryName): readonly Kind[] => [
  { label: `${name}, first page`, name, ask: () => ({}) },
  {
    label: `${name}, after a position`,
    name,
    ask: (row) => ({ after: String(positionOfRow(row)) }),
  },
];

const pagesInTime = (name: QueryName): readonly Kind[] => [
  ...pages(name),
  {
    label: `${name}, since a second`,
    name,
    ask: (row) => ({ sinceTimestamp: String(secondOfRow(row)) }),
  },
  {
    label: `${name}, since a second and after a position`,
    name,
    ask: (row) => ({
      sinceTimestamp: String(secondOfRow(Math.floor(row / 2))),
      after: String(positionOfRow(row)),
    }),
  },
];

const encoded = (cursor: string): string => Buffer.from(cursor).toString("base64url");

/** Pages of a connection; `placeOf` makes the cursor of a row's edge. */
const connected = (
  name: QueryName & `${string}Connection`,
  placeOf: (row: number, count: number) => string,
): readonly Kind[] => [
  { label: `${name}, first page`, name, ask: () => ({}) },
  {
    label: `${name}, after a row`,
    name,
    ask: (row, count) => ({ after: encoded(placeOf(Math.floor(row / 2), count)) }),
  },
];

/** From a second in the first half of all rows to one in the second half. */
const between = (row: number, count: number): Variables => ({
  fromTimestamp: String(secondOfRow(Math.floor(row / 2))),
  toTimestamp: String(secondOfRow(Math.floor(count / 2 + row / 2))),
});

const betweenSeconds = (name: QueryName): readonly Kind[] =>
  (["ASC", "DESC"] as const).map((order) => ({
    label: `${name}, between two seconds${order === "DESC" ? ", newest first" : ""}`,
    name,
    ask: (row, count) => ({ ...between(row, count), order }),
  }));

const searched = (what: string, textOf: (row: number) => string): Kind => ({
  label: `search, ${what}`,
  name: "search",
  ask: (row) => ({ text: textOf(row) }),
});

const shortened = (text: string, from: number): string =>
  `${text.slice(0, from)}…${text.slice(-4)}`;

/** Holdings of an owner of four objects, or of most. */
const ofOwners = (name: QueryName): readonly Kind[] => [
  {
    label: `${name}, an owner of four`,
    name,
    ask: (row, count) => ({
      owner: ownerOfObject(BUSY_OBJECTS + Math.floor((row / count) * (count - BUSY_OBJECTS))),
    }),
  },
  {
    label: `${name}, the owner of ${BUSY_OBJECTS}`,
    name,
    ask: () => ({ owner: ownerOfObject(0) }),
  },
];

/** The holder of the wallet with a quarter of all movements. */
export const BUSY_HOLDER = 1;

/** Filters of a list, alone and together, in both orders; `placeOf` makes the argument `after`. */
const filtered = (
  name: QueryName,
  rareType: string,
  placeOf: (row: number) => string,
): readonly Kind[] => {
  const types = [rareType];
  const busy = wallet(BUSY_WALLET);
  const filters: Readonly<Record<string, (row: number) => Variables>> = {
    "a rare type": () => ({ types }),
    "a wallet of few rows": (row) => ({ owner: wallet(Math.floor(row / 4)) }),
    "the busiest wallet": () => ({ owner: busy }),
    "a rare type of the busiest wallet": () => ({ owner: busy, types }),
    "the busiest holder": () => ({ holderId: String(BUSY_HOLDER) }),
    "a rare type of the busiest holder": () => ({ holderId: String(BUSY_HOLDER), types }),
  };
  return Object.entries(filters).flatMap(([what, filter]) => [
    { label: `${name}, ${what}`, name, ask: filter },
    {
      label: `${name}, ${what}, newest first`,
      name,
      ask: (row) => ({ ...filter(row), order: "DESC" }),
    },
    ...(what.endsWith("few rows")
      ? []
      : [
          {
            label: `${name}, ${what}, newest first, in a range, after a row`,
            name,
            ask: (row: number, count: number) => ({
              ...filter(row),
              order: "DESC",
              after: placeOf(Math.floor(count / 4 + row / 2)),
              toCheckpoint: String(checkpointOfRow(count)),
              fromCheckpoint: String(checkpointOfRow(0)),
            }),
          },
          {
            label: `${name}, ${what}, between two seconds`,
            name,
            ask: (row: number, count: number) => ({ ...filter(row), ...between(row, count) }),
          },
        ]),
  ]);
};

/** Filters of the register's events. */
const ofRegister: readonly Kind[] = [
  {
    label: "holderEvents, a wallet",
    name: "holderEvents",
    ask: (row) => ({ owner: wallet(Math.floor(row / 7)) }),
  },
  {
    label: "holderEvents, a holder",
    name: "holderEvents",
    ask: (row) => ({ holderId: String(Math.floor(row / 7)), order: "DESC" }),
  },
  {
    label: "holderEvents, of a type, newest first, after a position",
    name: "holderEvents",
    ask: (row) => ({
      types: ["address_frozen"],
      order: "DESC",
      after: String(positionOfRow(row)),
    }),
  },
];

const OF_TABLES: Readonly<Record<Exclude<GrowingTable, "token_changes">, readonly Kind[]>> = {
  token_activity: [
    ...pages("tokenActivity"),
    {
      label: "tokenActivity, newest first",
      name: "tokenActivity",
      ask: () => ({ order: "DESC" }),
    },
    {
      label: "tokenActivity, newest first, after a position",
      name: "tokenActivity",
      ask: (row) => ({ order: "DESC", after: String(positionOfRow(row)) }),
    },
    ...betweenSeconds("tokenActivity"),
    ...connected("tokenActivityConnection", (row) => String(positionOfRow(row))),
    { label: "transaction", name: "transaction", ask: (row) => ({ digest: digestOfRow(row) }) },
    searched("a digest", digestOfRow),
    searched("the beginning of a digest", (row) => digestOfRow(row).slice(0, 8)),
    searched("a shortened digest", (row) => shortened(digestOfRow(row), 6)),
    ...filtered("tokenActivity", RARE_TYPE, (row) => String(positionOfRow(row))),
  ],
  balances: [
    { label: "tokenBalance", name: "tokenBalance", ask: (row) => ({ owner: wallet(row) }) },
    { label: "tokenHolders, first page", name: "tokenHolders", ask: () => ({}) },
    {
      label: "tokenHolders, after a holder",
      name: "tokenHolders",
      ask: (row, count) => ({ after: holderPlace(row, count) }),
    },
    ...connected("tokenHoldersConnection", holderPlace),
  ],
  shared_token_objects: ofOwners("tokenObjects"),
  timelock_objects: [
    { label: "tokenTimelocks of the coin", name: "tokenTimelocks", ask: () => ({}) },
    ...ofOwners("tokenTimelocks"),
  ],
  holder_events: [
    ...pagesInTime("holderEvents"),
    // Of seven rows the first adds a wallet.
    {
      label: "holder",
      name: "holder",
      ask: (row) => ({ holderId: String(Math.floor(row / 7)) }),
    },
    ...ofRegister,
    ...betweenSeconds("holderEvents"),
    ...connected("holderEventsConnection", (row) => String(positionOfRow(row))),
    searched("Holder and a number", (row) => `Holder ${Math.floor(row / 7)}`),
    searched("a number", (row) => `${Math.floor(row / 7)}`),
  ],
  role_events: [
    ...pagesInTime("roleEvents"),
    {
      label: "roleEvents, an owner, newest first",
      name: "roleEvents",
      ask: (row) => ({ owner: wallet(row % 1_000), order: "DESC" }),
    },
  ],
};

/** A row's cursor in `balanceChanges`. */
const changePlace = (row: number): string => `${positionOfRow(row)}:${wallet(0)}:TOKENS`;

/** The wallet of a row of `token_changes`, but for the busiest one. */
const moverOfRow = (row: number): string => wallet(Math.floor(row / 4));

const OF_CHANGES: readonly Kind[] = [
  { label: "wallet", name: "wallet", ask: (row) => ({ address: moverOfRow(row) }) },
  ...filtered("balanceChanges", RARE_CAUSE, changePlace),
  ...betweenSeconds("balanceChanges"),
  ...connected("balanceChangesConnection", changePlace),
  {
    label: "holder with its history, a holder of three movements",
    name: "holderHistory",
    ask: (row) => ({ holderId: String(Math.floor(row / 4)) }),
  },
  {
    label: "holder with its history, the busiest",
    name: "holderHistory",
    ask: () => ({ holderId: String(BUSY_HOLDER) }),
  },
  {
    label: "holder with its history, the busiest, newest first",
    name: "holderHistory",
    ask: () => ({ holderId: String(BUSY_HOLDER), order: "DESC" }),
  },
  {
    label: "holder with its history, the busiest, after a row",
    name: "holderHistory",
    ask: (row) => ({
      holderId: String(BUSY_HOLDER),
      after: `${positionOfRow(Math.floor(row / 2))}:${wallet(BUSY_WALLET)}:TOKENS`,
    }),
  },
  searched("an address", moverOfRow),
  searched("the beginning of an address", (row) => moverOfRow(row).slice(0, 11)),
  searched("a shortened address", (row) => shortened(moverOfRow(row), 6)),
];

const OF_SUPPLIES: readonly Kind[] = [
  { label: "supply", name: "supply", ask: () => ({}) },
  {
    label: "supply between two seconds, 400 points",
    name: "supply",
    ask: (row, count) => ({ ...spanOf(row, count), points: 400 }),
  },
];

/** Rows of `log_blocks` and `token_supplies` are a checkpoint each. */
const spanOf = (row: number, count: number): Variables => {
  const second = (place: number) => String(secondOfRow(Math.floor(place) * 4));
  return { from: second(row / 2), to: second(count / 2 + row / 2) };
};

const OF_MOVES: readonly Kind[] = [
  { label: "holderCounts, as many wallets", name: "holderCounts", ask: () => ({}) },
  {
    label: "holderCounts between two seconds, as many wallets",
    name: "holderCounts",
    ask: spanOf,
  },
];

const OF_LABELS: readonly Kind[] = [
  { label: "labels, first page", name: "labels", ask: () => ({}) },
  {
    label: "labels, after a label",
    name: "labels",
    ask: (row) => ({ after: String(Math.floor(row / 2) + 1) }),
  },
  { label: "capTable with labels, as many holders", name: "capTable", ask: () => ({}) },
  searched("a word of one label", labelWord),
  searched("the beginning of a word of one label", (row) => labelWord(row).slice(0, 7)),
  searched("a word of 5,000 labels", () => FREQUENT_WORD),
  searched(
    "a word of 5,000 labels and one of one",
    (row) => `${FREQUENT_WORD} ${labelWord(row % 5_000).slice(0, 7)}`,
  ),
];

/** Tables that are filled together, and what is asked of them. */
export type Group = {
  readonly name: string;
  readonly fills: readonly Fill[];
  readonly kinds: readonly Kind[];
};

const ofTable = (table: keyof typeof OF_TABLES): Group => ({
  name: table,
  fills: [{ table, row: ROWS[table] }],
  kinds: OF_TABLES[table],
});

export const GROUPS: readonly Group[] = [
  ofTable("token_activity"),
  ofTable("balances"),
  ofTable("shared_token_objects"),
  ofTable("timelock_objects"),
  ofTable("holder_events"),
  ofTable("role_events"),
  {
    name: "token_changes",
    fills: [{ table: "token_changes", row: ROWS.token_changes }, ...FILLS.holders],
    kinds: OF_CHANGES,
  },
  { name: "token_supplies", fills: FILLS.supplies, kinds: OF_SUPPLIES },
  { name: "movements of as many wallets", fills: FILLS.moves, kinds: OF_MOVES },
  { name: "labels", fills: FILLS.labels, kinds: OF_LABELS },
];

/** `holderCounts` reads where the balance of every wallet that ever held begins and ends. */
export const OF_WALLETS: Kind & { readonly fills: readonly Fill[] } = {
  label: "holderCounts, ten times the wallets",
  name: "holderCounts",
  ask: () => ({}),
  fills: FILLS.wallets,
};
