/** The attacks: bounded in count and time, against one local port. */
import { getIntrospectionQuery } from "graphql";
import { bodyOf, FIELDS } from "./graphql-queries.ts";

export type Attack =
  | {
      /** Requests sent on each connection without reading answers, then a hang-up. */
      readonly kind: "pipelined";
      readonly path: string;
      readonly connections: number;
      readonly requests: number;
      /** Otherwise every second connection reads nothing. */
      readonly allRead: boolean;
      readonly hangUpAfterMs: number;
      readonly rounds: number;
    }
  | {
      /** Concurrent GraphQL callers; each repeats after its answer. */
      readonly kind: "asking";
      readonly query: string;
      /** Makes every document unique. */
      readonly everAnother: boolean;
      readonly callers: number;
      readonly forMs: number;
      /** Each caller then hangs up and reconnects. */
      readonly hangUpAfterMs?: number;
    };

/** Answers by status; `none` for requests without one. */
export type Statuses = Readonly<Record<string, number>>;

type Phase = {
  /** Selects the phase on the command line. */
  readonly name: string;
  readonly label: string;
  /** Absent: ten seconds without an attack. */
  readonly attack?: Attack;
};

const several = (count: number, field: (n: number) => string): string =>
  `{ ${Array.from({ length: count }, (_, n) => `a${n}: ${field(n)}`).join(" ")} }`;

const heavyQueries = (coinTypes: readonly string[]) => {
  const activity = (n: number, limit: number) =>
    `tokenActivity(coinType: "${coinTypes[n % coinTypes.length]}", limit: ${limit}) { ${FIELDS.tokenActivity} }`;
  return {
    rows: several(3, (n) => activity(n, 1_000)),
    aliases: several(30, (n) => activity(n, 100)),
  };
};

const pages = { kind: "pipelined", path: "/docs/js/scalar.js" } as const;

/** @param coinTypes of the served ledger */
export const phasesOver = (coinTypes: readonly string[]): readonly Phase[] => {
  const { rows, aliases } = heavyQueries(coinTypes);
  const introspection = {
    kind: "asking",
    query: getIntrospectionQuery(),
    callers: 20,
    forMs: 10_000,
  } as const;
  return [
    { name: "quiet", label: "quiet" },
    {
      name: "pages",
      label: "no key: 1 x 1500 pages",
      attack: {
        ...pages,
        connections: 1,
        requests: 1_500,
        allRead: true,
        hangUpAfterMs: 1_000,
        rounds: 5,
      },
    },
    {
      name: "pages",
      label: "no key: 400 x 40 pages",
      attack: {
        ...pages,
        connections: 400,
        requests: 40,
        allRead: false,
        hangUpAfterMs: 4_000,
        rounds: 2,
      },
    },
    {
      // The maximum pending on one connection.
      name: "pages",
      label: "no key: 400 x 16 pages",
      attack: {
        ...pages,
        connections: 400,
        requests: 16,
        allRead: false,
        hangUpAfterMs: 4_000,
        rounds: 2,
      },
    },
    {
      name: "heavy",
      label: "one key: 150 x 3000 rows",
      attack: { kind: "asking", query: rows, everAnother: false, callers: 150, forMs: 20_000 },
    },
    {
      name: "aliases",
      label: "one key: 20 x 30 aliases",
      attack: { kind: "asking", query: aliases, everAnother: false, callers: 20, forMs: 10_000 },
    },
    {
      name: "introspection",
      label: "one key: 20 x introspection",
      attack: { ...introspection, everAnother: false },
    },
    {
      name: "introspection",
      label: "one key: 20 x introspection, ever another",
      attack: { ...introspection, everAnother: true },
    },
    {
      name: "hanging",
      label: "one key: 200 hang up after 50 ms",
      attack: {
        kind: "asking",
        query: rows,
        everAnother: false,
        callers: 200,
        forMs: 10_000,
        hangUpAfterMs: 50,
      },
    },
  ];
};

export const smallQuery = (coinType: string): string =>
  bodyOf({ name: "tokenHolders", variables: { coinType, limit: 5 } });
