/** `docs/reference/vectors/sequence.json`: entries of the signed sequence, and heads of the log. */
import { z } from "zod";
import type { JsonValue } from "../../../client/canonical-json.ts";
import { type ActLine, lineFaults } from "../../../client/pack-forms.ts";
import { actHash } from "../../../client/pack-lines.ts";
import { isLogHeadSigned, signedLogHead } from "../../../client/verify-log-head.ts";
import {
  entryHash,
  type SequenceEntry,
  SequenceError,
  type VerifiedSequence,
  verifySequence,
} from "../../../client/verify-sequence.ts";
import { rootBody, rootBody1 } from "../../../client/verify-statement.ts";
import { signedEntry } from "../../../src/audit/sequence/sequence.ts";
import { statement2Of } from "../../../test/client/statement.ts";
import {
  type Case,
  type Judge,
  judged,
  KEYS,
  type TestKey,
  vectorFile,
  verdictIf,
  verdictOf,
} from "./vector.ts";

const ABOUT =
  "Entries of the signed sequence as `GET /sequence` has them, and heads as `GET /log-heads` has them. `publicKey` is the key that the verifier knows. For entries that hold, `whole` says whether none is left out, and `next` is the key that signs what comes behind those that are shown: an entry that shows nothing names no next key.";

type Unsigned = Omit<SequenceEntry, "keyId" | "signature">;

export const signedBy = (key: TestKey, entry: Unsigned): SequenceEntry => ({
  ...entry,
  keyId: key.keyId,
  signature: key.sign(signedEntry(entry)),
});

const verifying =
  (resultOf: (verified: VerifiedSequence) => object): Judge =>
  (given) => {
    const { entries, publicKey } = z
      .strictObject({ entries: z.array(z.unknown()), publicKey: z.string() })
      .parse(given);
    return verdictOf([SequenceError], async () =>
      resultOf(await verifySequence(entries, { publicKey })),
    );
  };

export const judgeSequence = verifying(({ whole, publicKey: next }) => ({ whole, next }));

export const judgeKeys = verifying(({ notShown, publicKey: next }) => ({
  next,
  notShown: notShown.map(({ number }) => number),
}));

export const judgeAct: Judge = async (given) => {
  const { line, sha256 } = z
    .strictObject({ line: z.custom<ActLine>(), sha256: z.string() })
    .parse(given);
  const [fault] = lineFaults("acts.ndjson", line);
  if (fault !== undefined) return { ok: false, error: fault };
  const is = await actHash(line);
  return verdictIf(is === sha256, `the hash is ${is}`);
};

const head = z.strictObject({
  checkpoint: z.string(),
  hash: z.string(),
  keyId: z.string(),
  signature: z.string(),
});

export const judgeHead: Judge = (given) => {
  const {
    publicKey,
    chainId,
    head: one,
  } = z.strictObject({ head, chainId: z.string().nullable(), publicKey: z.string() }).parse(given);
  const isSigned = isLogHeadSigned(one, { chainId, publicKey });
  return verdictIf(isSigned, "the signature does not fit the key");
};

const { deployment, next, stranger } = KEYS;
const CHAIN = statement2Of(0, 1).chainId;
const EMPTY = {
  count: "0",
  sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
};
const HEAD = { chainId: CHAIN, checkpoint: "9", hash: "77".repeat(32) };

type Said = readonly [
  SequenceEntry["kind"],
  { readonly [name: string]: JsonValue },
  TestKey?,
  string?,
];

const COIN = {
  chainId: CHAIN,
  coinType: statement2Of(0, 1).coinType,
  checkpoint: "7",
  facts: "3",
  hash: "88".repeat(32),
};
const SAID: readonly Said[] = [
  [
    "key",
    {
      keyId: deployment.keyId,
      publicKey: deployment.publicKey,
      chainId: CHAIN,
      roots: EMPTY,
      heads: EMPTY,
    },
  ],
  ["root", rootBody1(statement2Of(0, 3))],
  ["root", rootBody(statement2Of(0, 3))],
  ["coin", COIN],
  ["head", HEAD],
  ["blocks", { chainId: CHAIN, from: "0", through: "9", hash: "99".repeat(32) }],
  ["inputs", { chainId: CHAIN, from: "0", through: "9", hash: "aa".repeat(32) }],
  ["key", { keyId: next.keyId, publicKey: next.publicKey }],
  ["act", { act: "12", sha256: "bb".repeat(32) }, next],
  [
    "correction",
    { of: "log", chainId: CHAIN, through: "9", why: "another package of the contract" },
    next,
  ],
  ["head", { ...HEAD, hash: "cc".repeat(32) }, next],
];

const sequenceOf = async (said: readonly Said[]): Promise<readonly SequenceEntry[]> => {
  const entries: SequenceEntry[] = [];
  let previous = "0".repeat(64);
  for (const [at, [kind, body, key = deployment, dated]] of said.entries()) {
    const time = dated ?? `2026-07-01T00:00:${`${at}`.padStart(2, "0")}.000Z`;
    const entry = signedBy(key, { number: `${at}`, previous, kind, body, at: time });
    previous = await entryHash(entry);
    entries.push(entry);
  }
  return entries;
};

const { publicKey } = deployment;

const sequenceCases = async (): Promise<readonly Case[]> => {
  const entries = await sequenceOf(SAID);
  const changed = (number: string, change: object) =>
    entries.map((entry) => (entry.number === number ? { ...entry, ...change } : entry));
  const without = (...numbers: readonly string[]) =>
    entries.filter(({ number }) => !numbers.includes(number));
  const with4 = async (...said: readonly Said[]) => ({
    entries: await sequenceOf([...SAID.slice(0, 5), ...said]),
    publicKey,
  });
  const resigned = entries.map((entry) =>
    entry.number === "4"
      ? signedBy(deployment, { ...entry, at: "2026-07-01T00:00:03.500Z" })
      : entry,
  );
  return [
    ["all kinds, a change of key, none left out", { entries, publicKey }, null],
    ["some kept", { entries: without("1", "3", "6"), publicKey }, null],
    ["what the next key signed", { entries: entries.slice(8), publicKey: next.publicKey }, null],
    ["no entries", { entries: [], publicKey }, "there are no entries"],
    [
      "another key is known",
      { entries, publicKey: stranger.publicKey },
      "entry 0 is not signed with the key",
    ],
    [
      "the change of key is left out",
      { entries: without("7"), publicKey },
      "entry 8 is not signed with the key",
    ],
    [
      "a key that only the next key vouches for",
      { entries, publicKey: next.publicKey },
      "entry 0 is not signed with the key",
    ],
    [
      "one was dated back",
      { entries: changed("4", { at: "2020-01-01T00:00:00.000Z" }), publicKey },
      "entry 4 is not signed with the key",
    ],
    [
      "one was exchanged and signed anew",
      { entries: resigned, publicKey },
      "entry 5 does not have the hash of the one before",
    ],
    [
      "one is there twice",
      { entries: [...entries.slice(0, 3), ...entries.slice(2)], publicKey },
      "entry 2 comes behind entry 2",
    ],
    ["two are swapped", { entries: entries.slice(0, 2).toReversed(), publicKey }, "comes behind"],
    [
      "a number with a leading zero",
      { entries: changed("4", { number: "04" }), publicKey },
      "number must be",
    ],
    [
      "a kind that nobody knows",
      { entries: changed("4", { kind: "promise" }), publicKey },
      "kind must be",
    ],
    [
      "a member that nobody knows",
      { entries: changed("4", { note: "" }), publicKey },
      "unknown member",
    ],
    [
      "a body of other members",
      { entries: changed("4", { body: { ...HEAD, checkpoint: "8" } }), publicKey },
      "entry 4 is not signed with the key",
    ],
    [
      "another root of the same checkpoint",
      await with4(["root", rootBody(statement2Of(0, 5))]),
      "entry 5 says something else of checkpoint 7 than entry 2",
    ],
    [
      "another head of the same checkpoint, without a correction",
      await with4(["head", { ...HEAD, hash: "cc".repeat(32) }]),
      "entry 5 says something else of checkpoint 9 than entry 4",
    ],
    ["the same root signed again", await with4(["root", rootBody(statement2Of(0, 3))]), null],
    [
      "a time before that of the entry before",
      await with4(["head", { ...HEAD, checkpoint: "10" }, deployment, "2026-07-01T00:00:00.000Z"]),
      "entry 5 is dated 2026-07-01T00:00:00.000Z, before entry 4",
    ],
    [
      "number 0 names another key than its own",
      {
        entries: await sequenceOf([["key", { keyId: next.keyId, publicKey: next.publicKey }]]),
        publicKey,
      },
      "entry 0 does not name the key that signed it",
    ],
    [
      "a coin type with a short address",
      await with4(["coin", { ...COIN, coinType: "0x5::acme::ACME" }]),
      "body.coinType must be",
    ],
  ];
};

/** Succeeding, lost and revoked keys, with the numbers of entries that prove nothing. */
const keyCases = async (): Promise<readonly Case[]> => {
  const [first = SAID[0]] = SAID;
  const named = { keyId: next.keyId, publicKey: next.publicKey };
  const headAt = (checkpoint: string, key: TestKey): Said => ["head", { ...HEAD, checkpoint }, key];
  const revoking = (from: string, key: TestKey = next): Said => [
    "correction",
    { of: "key", keyId: deployment.keyId, from, why: "a copy of it was found" },
    key,
  ];
  const of = async (known: TestKey, ...said: readonly Said[]) => ({
    entries: await sequenceOf(first === undefined ? said : [first, ...said]),
    publicKey: known.publicKey,
  });
  const begun = headAt("9", deployment);
  const renewed: Said = ["key", named, deployment];
  const lost: Said = ["key", { ...named, lost: deployment.keyId }, next];
  const behind = headAt("10", next);
  const late = await of(next, begun, lost, behind);
  return [
    ["a key that the key before names", await of(deployment, begun, renewed, behind), null],
    [
      "an entry by the key before, behind it",
      await of(deployment, begun, renewed, headAt("10", deployment)),
      "in whose place an entry before it puts another",
    ],
    [
      "a lost key is known: what comes behind shows nothing",
      await of(deployment, begun, lost, behind),
      null,
    ],
    ["the key in its place is known", { ...late, entries: late.entries.slice(2) }, null],
    [
      "a key in a lost one's place that did not sign",
      await of(deployment, begun, ["key", { ...named, lost: deployment.keyId }, stranger], behind),
      "which did not sign it",
    ],
    [
      "a revoked key, with nothing by it from there on",
      await of(deployment, begun, renewed, revoking("3"), behind),
      null,
    ],
    [
      "a revoked key: what it signed from there on, and the key it named, shows nothing",
      await of(deployment, begun, headAt("10", deployment), renewed, revoking("2")),
      null,
    ],
    [
      "a key that revokes itself",
      await of(deployment, begun, revoking("1", deployment)),
      "revokes the key that signed it",
    ],
    [
      "a key revoked from a later entry on",
      await of(deployment, begun, renewed, revoking("9")),
      "revokes a key from a later entry on",
    ],
  ];
};

const actCases = async (): Promise<readonly Case[]> => {
  const line: ActLine = {
    number: "12",
    at: "2026-07-01T00:00:02.114Z",
    command: "keys create",
    details: { id: "k1", scope: "graphql", revoked: null },
    by: { user: "operator", host: "register", role: "holderbook" },
    scope: "coin",
    coinType: COIN.coinType,
    salt: "5a".repeat(16),
    entry: "41",
  };
  const honest = { line, sha256: await actHash(line) };
  const lie = (change: object) => ({ ...honest, line: { ...line, ...change } });
  return [
    ["an act on a coin", honest, null],
    ["the same before it was published", lie({ entry: null }), null],
    ["by somebody else", lie({ by: { ...line.by, user: "nobody" } }), "the hash is"],
    ["another command", lie({ command: "keys revoke" }), "the hash is"],
    ["another salt", lie({ salt: "5b".repeat(16) }), "the hash is"],
    ["a member that nobody knows", lie({ note: "" }), "unknown member"],
    ["a host that writes into a report", lie({ by: { ...line.by, host: "`x`" } }), "without `"],
  ];
};

const headCases = (): readonly Case[] => {
  const { checkpoint, hash } = HEAD;
  const of = (chainId: string | null, key: TestKey = deployment) => ({
    checkpoint,
    hash,
    keyId: key.keyId,
    signature: key.sign(signedLogHead({ chainId, checkpoint, hash })),
  });
  const known = { chainId: CHAIN, publicKey };
  const honest = of(CHAIN);
  const fails = "the signature does not fit the key";
  return [
    ["a head", { head: honest, ...known }, null],
    ["a head from before the chain's id was known", { head: of(null), ...known }, null],
    ["another hash", { head: { ...honest, hash: "00".repeat(32) }, ...known }, fails],
    ["another checkpoint", { head: { ...honest, checkpoint: "10" }, ...known }, fails],
    ["of another chain", { head: of("other"), ...known }, fails],
    ["signed by another key", { head: of(CHAIN, stranger), ...known }, fails],
    [
      "a signature in another spelling",
      { head: { ...honest, signature: honest.signature.replace(/=+$/, "") }, ...known },
      fails,
    ],
  ];
};

export const sequenceVectors = async (): Promise<string> =>
  vectorFile(ABOUT, {
    sequence: await judged(judgeSequence, await sequenceCases()),
    keys: await judged(judgeKeys, await keyCases()),
    act: await judged(judgeAct, await actCases()),
    head: await judged(judgeHead, headCases()),
  });
