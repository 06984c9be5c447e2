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
import { type Case, type Judge, judged, KEYS, vectorFile } from "./vector.ts";

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
  try {
    verifyStatement(statement, known);
    return { ok: true };
  } catch (error) {
    if (!(error instanceof StatementError)) throw error;
    return { ok: false, error: error.message };
  }
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
const rowLie = (statement: Statement, change: Partial<Statement["row"]>): Statement =>
  statement.version === 1
    ? lie(statement, { row: { ...statement.row, ...change } })
    : lie(statement, { row: { ...statement.row, ...change } });
const walletLie = (
  statement: Statement,
  change: Partial<Statement["row"]["wallets"][number]>,
): Statement =>
  rowLie(statement, {
    wallets: statement.row.wallets.map((wallet, at) =>
      at === 0 ? { ...wallet, ...change } : wallet,
    ),
  });

const CLIMBS = "row and path lead to the root";

const forgedOf = (statement: Statement): readonly Case[] => {
  const of = `version ${statement.version}, signed anew:`;
  const isSecond = statement.version === 2;
  return [
    [
      `version ${statement.version}: a balance was changed`,
      { statement: { ...statement, row: { ...statement.row, balance: "997" } } },
      WHOLE,
    ],
    [
      `version ${statement.version}: the signature is of another text`,
      { statement: { ...statement, totalSupply: null } },
      WHOLE,
    ],
    [
      `version ${statement.version}: the checkpoint was changed`,
      { statement: { ...statement, checkpoint: "8" } },
      ROOT,
    ],
    [
      `version ${statement.version}: a member that nobody knows`,
      { statement: { ...statement, note: "" } },
      "note is no member of a statement",
    ],
    [
      `${of} tokens and granted moved`,
      { statement: rowLie(statement, { tokens: "985", granted: "11", locked: "7" }) },
      CLIMBS,
    ],
    [
      `${of} the balance does not add up`,
      { statement: rowLie(statement, { balance: "995" }) },
      "tokens and granted do not add up",
    ],
    [
      `${of} unlocked and locked do not add up`,
      { statement: rowLie(statement, { locked: "7" }) },
      "unlocked and locked do not add up",
    ],
    [
      `${of} another share`,
      { statement: rowLie(statement, { share: "0.500000000000" }) },
      "the share is not balance divided by total",
    ],
    [`${of} another holder`, { statement: rowLie(statement, { holderId: "5" }) }, CLIMBS],
    [
      `${of} no holder, two wallets`,
      { statement: rowLie(statement, { holderId: null }) },
      "a row without a holder is that of one wallet",
    ],
    [
      `${of} wallets out of order`,
      { statement: rowLie(statement, { wallets: statement.row.wallets.toReversed() }) },
      "not in ascending order",
    ],
    [
      `${of} an address in capitals`,
      { statement: walletLie(statement, { address: `0x${"F".repeat(64)}` }) },
      "row is missing or malformed",
    ],
    [
      `${of} an amount with a leading zero`,
      { statement: rowLie(statement, { tokens: "0986" }) },
      "row.tokens is missing or malformed",
    ],
    [
      `${of} an amount of 2^128`,
      { statement: rowLie(statement, { tokens: `${2n ** 128n}` }) },
      "row.tokens is missing or malformed",
    ],
    [
      `${of} a sibling is left out`,
      { statement: lie(statement, { path: statement.path.slice(0, -1) }) },
      CLIMBS,
    ],
    [
      `${of} a sibling on the other side`,
      {
        statement: lie(statement, {
          path: statement.path.map((step, at) =>
            at === 0 ? { ...step, side: step.side === "left" ? "right" : "left" } : step,
          ),
        }),
      },
      CLIMBS,
    ],
    [
      `${of} a sum moved from one sibling to another`,
      {
        statement: lie(statement, {
          path: statement.path.map((step, at) =>
            at > 1 ? step : { ...step, sum: `${BigInt(step.sum) + (at === 0 ? 1n : -1n)}` },
          ),
        }),
      },
      CLIMBS,
    ],
    [
      `${of} sums above 2^128`,
      {
        statement: lie(statement, {
          path: [
            ...statement.path,
            { hash: "0".repeat(64), sum: `${2n ** 128n - 1n}`, side: "right" },
          ],
        }),
      },
      "larger than any total",
    ],
    [
      `${of} another supply`,
      { statement: lie(statement, { totalSupply: "1" }) },
      "but the treasury's supply is 1",
    ],
    [
      `${of} a digest in another spelling`,
      { statement: lie(statement, { checkpointDigest: `1${statement.checkpointDigest}` }) },
      "checkpointDigest is missing or malformed",
    ],
    [
      `${of} a type with a short address`,
      { statement: lie(statement, { coinType: "0x5::acme::ACME" }) },
      "coinType is missing or malformed",
    ],
    [
      `${of} another group`,
      { statement: walletLie(statement, { groupId: "2" }) },
      isSecond ? CLIMBS : null,
    ],
    [
      `${of} no freeze`,
      { statement: walletLie(statement, { isFrozen: false }) },
      isSecond ? CLIMBS : null,
    ],
    [
      `${of} other decimals`,
      { statement: lie(statement, { decimals: 0 }) },
      isSecond ? CLIMBS : null,
    ],
    [
      `version ${statement.version}: another key is known`,
      { statement, publicKey: KEYS.stranger.publicKey },
      "not with",
    ],
    [
      `version ${statement.version}: another root is known`,
      { statement, root: smaller.root },
      "that was given",
    ],
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
    "entry is missing or malformed",
  ],
  [
    "version 3, which nobody knows",
    { statement: { ...two, version: 3 } },
    "version is missing or malformed",
  ],
];

export const statementVectors = async (): Promise<string> =>
  vectorFile(ABOUT, { statement: await judged(judgeStatement, [...holding, ...forged]) });
