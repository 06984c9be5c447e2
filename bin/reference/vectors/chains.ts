/**
 * `docs/reference/vectors/chain.json`: positions, and hash chains over facts, input versions, times
 * and digests.
 */
import { z } from "zod";
import { SHARED_TOKEN } from "../../../src/ledger/contract/names.ts";
import { blockHash } from "../../../src/log/block-chain.ts";
import { hashFacts, linkOf, START } from "../../../src/log/chain-hash.ts";
import { inputLink } from "../../../src/log/input-chain.ts";
import { placeOf, positionOf } from "../../../src/projections/position.ts";
import { blockOf } from "../../../test/log/facts.ts";
import {
  ACME,
  address,
  BETA,
  minted,
  removed,
  token,
  transferred,
} from "../../../test/pipelines/token-facts.ts";
import { fact, factJson, factsOf, markOf } from "./facts.ts";
import { type Case, type Judge, judged, vectorFile, verdictIf } from "./vector.ts";

const ABOUT =
  "Hash chains over the log, and positions. `before` is the hash before the first link, null where the chain begins; `hash` is what is claimed to be behind the last one. A chain of one coin is that of its facts alone.";

const number = z.string().transform(BigInt);
const hex = z.string().transform((text) => Buffer.from(text, "hex"));
const before = hex.nullable();
const mark = z.strictObject({ checkpoint: number, timestampMs: number, digest: z.string() });

const chainOf = <Link extends z.ZodType>(link: Link) =>
  z.strictObject({ before, links: z.array(link), hash: hex });

const isHash = (claimed: Uint8Array, is: Uint8Array) =>
  verdictIf(
    Buffer.compare(claimed, is) === 0,
    `the chain ends with ${Buffer.from(is).toString("hex")}`,
  );

const factChain = chainOf(z.strictObject({ ...mark.shape, facts: z.array(fact) }));

export const judgeFacts: Judge = (given) => {
  const { before: start, links, hash } = factChain.parse(given);
  let end: Uint8Array = start ?? START;
  for (const { checkpoint, timestampMs, digest, facts } of links) {
    const of = { sequence: checkpoint, timestampMs, digest };
    end = linkOf(end, of, hashFacts(facts).all.hash);
  }
  return isHash(hash, end);
};

const input = z.strictObject({
  transaction: z.string().transform(Number),
  objectId: z.string(),
  version: number.nullable(),
});

const inputChain = chainOf(z.strictObject({ checkpoint: number, inputs: z.array(input) }));

export const judgeInputs: Judge = (given) => {
  const { before: start, links, hash } = inputChain.parse(given);
  let end: Uint8Array = start ?? START;
  for (const { checkpoint, inputs } of links) {
    const numbered = inputs.map((one, index) => ({ ...one, checkpoint, index }));
    end = inputLink(end, checkpoint, numbered).hash;
  }
  return isHash(hash, end);
};

const blockChain = chainOf(mark);

export const judgeBlocks: Judge = (given) => {
  const { before: start, links, hash } = blockChain.parse(given);
  const [first] = links;
  if (first === undefined) return isHash(hash, start ?? START);
  const marks = links.map(({ checkpoint, ...of }) => ({ sequence: checkpoint, ...of }));
  const row = { firstCheckpoint: first.checkpoint, count: links.length, ...blockOf(marks) };
  return isHash(hash, blockHash(start ?? START, row));
};

export const judgePosition: Judge = (given) => {
  const { position, ...place } = z
    .strictObject({
      position: number,
      checkpoint: number,
      transaction: z.string().transform(Number),
      index: z.string().transform(Number),
    })
    .parse(given);
  const is = positionOf(place);
  const isSame = is === position && placeOf(position).index === place.index;
  return verdictIf(isSame, `the position is ${is}`);
};

const [ALICE, BOB] = [address("a11ce"), address("b0b")];
const SAID = [
  {
    sequence: 7n,
    transactions: [
      [
        minted({ tokenId: address("1"), to: ALICE, amount: 5n }),
        token({ id: address("1"), owner: ALICE, balance: 5n }),
      ],
      [minted({ tokenId: address("2"), to: BOB, amount: 9n }, BETA)],
    ],
  },
  {
    sequence: 9n,
    transactions: [
      [],
      [
        transferred({ tokenId: address("1"), from: ALICE, to: BOB, amount: 5n }),
        token({ id: address("3"), owner: BOB, balance: 5n }),
        removed(SHARED_TOKEN, address("1")),
      ],
    ],
  },
];

const factCases = (): readonly Case[] => {
  const all = factsOf(SAID);
  const chain = (coinType?: string) => {
    const links = SAID.flatMap(({ sequence }) => {
      const own = all.filter(
        (one) =>
          one.checkpoint === sequence && (coinType === undefined || one.coinType === coinType),
      );
      return own.length === 0 ? [] : [{ mark: markOf(sequence), own }];
    });
    let end: Uint8Array = START;
    for (const { mark: of, own } of links) end = linkOf(end, of, hashFacts(own).all.hash);
    return {
      before: null,
      links: links.map(({ mark: { sequence, timestampMs, digest }, own }) => ({
        checkpoint: `${sequence}`,
        timestampMs: `${timestampMs}`,
        digest,
        facts: own.map(factJson),
      })),
      hash: Buffer.from(end).toString("hex"),
    };
  };
  const [whole, acme, beta] = [chain(), chain(ACME), chain(BETA)];
  const [first, second] = whole.links;
  const edited = (change: object) => ({
    ...whole,
    links: [
      { ...first, facts: first?.facts.map((one, at) => (at === 0 ? { ...one, ...change } : one)) },
      second,
    ],
  });
  const fails = "the chain ends with";
  return [
    ["all facts of two checkpoints", whole, null],
    ["the facts of one coin", acme, null],
    ["the facts of a coin of one checkpoint", beta, null],
    ["no facts", { before: null, links: [], hash: "0".repeat(64) }, null],
    [
      "a fact is left out",
      { ...whole, links: [{ ...first, facts: first?.facts.slice(1) }, second] },
      fails,
    ],
    ["a fact of another time", edited({ timestampMs: "1700000007001" }), fails],
    ["a fact of another sender", edited({ sender: ALICE }), fails],
    ["a checkpoint is left out", { ...whole, links: [second] }, fails],
    [
      "a checkpoint of another digest",
      { ...whole, links: [{ ...first, digest: second?.digest }, second] },
      fails,
    ],
    ["goes on behind another hash", { ...whole, before: "11".repeat(32) }, fails],
  ];
};

const inputCases = (): readonly Case[] => {
  const example = {
    before: null,
    links: [
      {
        checkpoint: "7",
        inputs: [
          { transaction: "2", objectId: address("a"), version: null },
          { transaction: "2", objectId: address("b"), version: "5" },
        ],
      },
    ],
    hash: "48fc28f9d4c5c10e020c830c275cbf6fc0542ef4e9988390907333300a78d5c8",
  };
  const link = (...inputs: readonly object[]) => ({
    ...example,
    links: [{ checkpoint: "7", inputs }],
  });
  const [made, taken] = example.links[0]?.inputs ?? [];
  const fails = "the chain ends with";
  return [
    ["an object made, another taken in", example, null],
    ["the two in another order", link({ ...taken }, { ...made }), fails],
    ["version 0 instead of none", link({ ...made, version: "0" }, { ...taken }), fails],
    ["another version", link({ ...made }, { ...taken, version: "6" }), fails],
  ];
};

const blockCases = (): readonly Case[] => {
  const marks = [5n, 6n, 7n].map(markOf);
  const row = { firstCheckpoint: 5n, count: 3, ...blockOf(marks) };
  const links = marks.map(({ sequence, timestampMs, digest }) => ({
    checkpoint: `${sequence}`,
    timestampMs: `${timestampMs}`,
    digest,
  }));
  const honest = { before: null, links, hash: Buffer.from(blockHash(START, row)).toString("hex") };
  const [first, ...others] = links;
  const fails = "the chain ends with";
  return [
    ["three checkpoints", honest, null],
    ["no checkpoint", { before: null, links: [], hash: "0".repeat(64) }, null],
    [
      "another time",
      { ...honest, links: [{ ...first, timestampMs: "1700000005001" }, ...others] },
      fails,
    ],
    [
      "another digest",
      { ...honest, links: [{ ...first, digest: others[0]?.digest }, ...others] },
      fails,
    ],
    ["the first one is left out", { ...honest, links: others }, fails],
  ];
};

const positionCases: readonly Case[] = [
  ["the first", { checkpoint: "0", transaction: "0", index: "0", position: "0" }, null],
  [
    "one of checkpoint 26",
    { checkpoint: "26", transaction: "2", index: "0", position: "26000020000" },
    null,
  ],
  [
    "the last of a checkpoint",
    {
      checkpoint: "184220931",
      transaction: "99999",
      index: "9999",
      position: "184220931999999999",
    },
    null,
  ],
  [
    "another event",
    { checkpoint: "26", transaction: "2", index: "1", position: "26000020000" },
    "the position is 26000020001",
  ],
];

export const chainVectors = async (): Promise<string> =>
  vectorFile(ABOUT, {
    facts: await judged(judgeFacts, factCases()),
    inputs: await judged(judgeInputs, inputCases()),
    blocks: await judged(judgeBlocks, blockCases()),
    position: await judged(judgePosition, positionCases),
  });
