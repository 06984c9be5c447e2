/** `docs/reference/vectors/statement.json`: valid statements, and forgeries of them. */
import { z } from "zod";
import type { SequenceEntry } from "../../../client/verify-sequence.ts";
import {
  entryOf,
  rootBody1,
  type Statement,
  type Statement1,
  type Statement2,
  StatementError,
  verifyStatement,
} from "../../../client/verify-statement.ts";
import { signedAgain, statement2Of, statementOf } from "../../../test/client/statement.ts";
import { signedBy } from "./sequences.ts";
import { type Case, type Judge, judged, KEYS, vectorFile, verdictOf } from "./vector.ts";

const ABOUT =
  "Statements. `input.statement` is the parsed file. What the verifier knows from elsewhere is in `publicKey`, `root` and `entries`, where they are there.";

const input = z.strictObject({
  statement: z.unknown(),
  publicKey: z.string().optional(),
  root: z.string().optional(),
  entries: z.array(z.custom<SequenceEntry>()).optional(),
});

export const judgeStatement: Judge = (given) => {
  const { statement, ...known } = input.parse(given);
  return verdictOf([StatementError], () => {
    verifyStatement(statement, known);
    return {};
  });
};

const [one, two] = [statementOf(4, 11), statement2Of(4, 11)];
const smaller = statement2Of(0, 3);
const { publicKey } = KEYS.deployment;

const holding: readonly Case[] = [
  ...[1, 2, 3, 5, 8].flatMap((rows): Case[] => [
    [`version 1, row 1 of ${rows}`, { statement: statementOf(0, rows) }, null],
    [`version 2, row ${rows} of ${rows}`, { statement: statement2Of(rows - 1, rows) }, null],
  ]),
  ["version 1, key and root known", { statement: one, publicKey, root: one.root }, null],
  ["version 2, key and root known", { statement: two, publicKey, root: two.root }, null],
  ["version 2, its entry kept", { statement: two, publicKey, entries: [entryOf(two)] }, null],
];

const ROOT = "the signature of the root does not fit the key";
const WHOLE = "the signature of the statement does not fit the key";

/** Changed and signed again by the deployment. */
const lie = <Of extends Statement1 | Statement2>(statement: Of, change: Partial<Of>): Statement =>
  signedAgain({ ...statement, ...change });

const CLIMBS = "row and path lead to the root";

type Change = Partial<Omit<Statement, "version" | "format">>;

const forgedOf = (statement: Statement): readonly Case[] => {
  const version = `version ${statement.version}`;
  const { path } = statement;
  const row = (change: Partial<Statement["row"]>) => ({ row: { ...statement.row, ...change } });
  const wallet = (change: Partial<Statement["row"]["wallets"][number]>) =>
    row({
      wallets: statement.row.wallets.map((one, at) => (at === 0 ? { ...one, ...change } : one)),
    });
  const steps = (change: (step: Statement["path"][number], at: number) => object) => ({
    path: path.map((step, at) => ({ ...step, ...change(step, at) })),
  });
  const changed: readonly (readonly [name: string, change: object, fails: string])[] = [
    ["a balance was changed", row({ balance: "997" }), WHOLE],
    ["the signature is of another text", { totalSupply: null }, WHOLE],
    ["the checkpoint was changed", { checkpoint: "8" }, ROOT],
    ["a member that nobody knows", { note: "" }, 'it has the unknown member "note"'],
  ];
  /** Version 1 does not cover these members. */
  const onlyIn2 = statement.version === 2 ? CLIMBS : null;
  const lies: readonly (readonly [name: string, change: Change, fails: string | null])[] = [
    ["tokens and granted moved", row({ tokens: "985", granted: "11", locked: "7" }), CLIMBS],
    ["the balance does not add up", row({ balance: "995" }), "tokens and granted do not add up"],
    [
      "unlocked and locked do not add up",
      row({ locked: "7" }),
      "unlocked and locked do not add up",
    ],
    [
      "another share",
      row({ share: "0.500000000000" }),
      "the share is not balance divided by total",
    ],
    ["another holder", row({ holderId: "5" }), CLIMBS],
    [
      "no holder, two wallets",
      row({ holderId: null }),
      "a row without a holder is that of one wallet",
    ],
    [
      "wallets out of order",
      row({ wallets: statement.row.wallets.toReversed() }),
      "not in ascending order",
    ],
    [
      "an address in capitals",
      wallet({ address: `0x${"F".repeat(64)}` }),
      "row.wallets[0].address must be",
    ],
    ["an amount with a leading zero", row({ tokens: "0986" }), "row.tokens must be"],
    ["an amount of 2^128", row({ tokens: `${2n ** 128n}` }), "row.tokens must be"],
    ["a sibling is left out", { path: path.slice(0, -1) }, CLIMBS],
    [
      "a sibling on the other side",
      steps(({ side }, at) => (at === 0 ? { side: side === "left" ? "right" : "left" } : {})),
      CLIMBS,
    ],
    [
      "a sum moved from one sibling to another",
      steps(({ sum }, at) => (at > 1 ? {} : { sum: `${BigInt(sum) + (at === 0 ? 1n : -1n)}` })),
      CLIMBS,
    ],
    [
      "sums above 2^128",
      { path: [...path, { hash: "0".repeat(64), sum: `${2n ** 128n - 1n}`, side: "right" }] },
      "larger than any total",
    ],
    ["another supply", { totalSupply: "1" }, "but the treasury's supply is 1"],
    [
      "a digest in another spelling",
      { checkpointDigest: `1${statement.checkpointDigest}` },
      "checkpointDigest must be",
    ],
    ["a type with a short address", { coinType: "0x5::acme::ACME" }, "coinType must be"],
    ["another group", wallet({ groupId: "2" }), onlyIn2],
    ["no freeze", wallet({ isFrozen: false }), onlyIn2],
    ["other decimals", { decimals: 0 }, onlyIn2],
  ];
  return [
    ...changed.map(
      ([name, change, fails]): Case => [
        `${version}: ${name}`,
        { statement: { ...statement, ...change } },
        fails,
      ],
    ),
    ...lies.map(
      ([name, change, fails]): Case => [
        `${version}, signed anew: ${name}`,
        { statement: lie(statement, change) },
        fails,
      ],
    ),
    [
      `${version}: another key is known`,
      { statement, publicKey: KEYS.stranger.publicKey },
      "not with",
    ],
    [`${version}: another root is known`, { statement, root: smaller.root }, "that was given"],
  ];
};

const exchanged = signedAgain({ ...two, root: smaller.root, total: smaller.total });

const forged: readonly Case[] = [
  ...forgedOf(one),
  ...forgedOf(two),
  [
    "version 2: a kept entry has another root",
    { statement: two, publicKey, entries: [entryOf(exchanged)] },
    "which was kept",
  ],
  [
    "version 1: a kept entry has another root",
    {
      statement: one,
      publicKey,
      entries: [
        signedBy(KEYS.deployment, {
          number: "16",
          previous: "cd".repeat(32),
          kind: "root",
          body: rootBody1({ ...one, root: two.root }),
          at: "2026-07-01T00:00:02.113Z",
        }),
      ],
    },
    "which was kept",
  ],
  [
    "version 2, signed anew: a time of another second",
    { statement: lie(two, { checkpointTimestamp: "1700000001" }) },
    "in seconds is not that in milliseconds",
  ],
  [
    "version 2: another number in the sequence",
    { statement: { ...two, entry: { ...two.entry, number: "18" } } },
    ROOT,
  ],
  [
    "version 2, signed anew: a time that no calendar has",
    { statement: lie(two, { entry: { ...two.entry, at: "2026-02-30T00:00:02.114Z" } }) },
    "entry.at must be",
  ],
  ["version 3, which nobody knows", { statement: { ...two, version: 3 } }, "version must be 1"],
];

export const statementVectors = async (): Promise<string> =>
  vectorFile(ABOUT, { statement: await judged(judgeStatement, [...holding, ...forged]) });
