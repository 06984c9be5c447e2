/** Statements, roots, heads and entries of the sequence. */
import { z } from "zod";
import {
  address,
  amount,
  chainId,
  coinType,
  decimals,
  digest,
  hash,
  keyId,
  moment,
  number,
  plain,
  publicKey,
  rowAmounts,
  signature,
  timeMs,
  u64,
} from "./values.ts";

const row = z.strictObject({
  holderId: amount.nullable(),
  wallets: z.array(
    z.strictObject({
      address,
      balance: amount,
      groupId: amount.nullable(),
      isFrozen: z.boolean(),
    }),
  ),
  ...rowAmounts,
});

const base = {
  format: z.literal("holderbook-statement"),
  chainId,
  coinType,
  decimals,
  checkpoint: amount,
  checkpointTimestamp: amount,
  checkpointDigest: digest,
  row,
  path: z.array(z.strictObject({ hash, sum: amount, side: z.enum(["left", "right"]) })).max(64),
  root: hash,
  total: amount,
  totalSupply: amount.nullable(),
  keyId,
  publicKey,
  rootSignature: signature,
  signature,
};

export const statement1 = z.strictObject({ ...base, version: z.literal(1) });
export const statement2 = z.strictObject({
  ...base,
  version: z.literal(2),
  checkpointTimestampMs: amount,
  entry: z.strictObject({ number: amount, previous: hash, at: moment }),
});

const table = {
  chainId: chainId.nullable(),
  coinType,
  checkpoint: number,
  checkpointDigest: digest,
  root: hash,
  total: amount,
};
const meant = { decimals: number.nullable(), checkpointTimestampMs: timeMs };
const listed = { keyId, signature, signedAt: moment };
const value = z.strictObject({ root: hash, total: amount });
const plainText = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[ -_a-~]+$/);
const correctedRoot = {
  version: z.enum(["1", "2"]),
  checkpoint: amount,
  from: value,
  to: value,
};
const corrected = { by: plainText(200), why: plainText(1_000) };
const corrections = z.array(z.strictObject({ ...correctedRoot, ...corrected, number, at: moment }));

export const root = z.union([
  z.strictObject({ ...table, ...listed, number: number.nullable(), corrections }),
  z.strictObject({
    version: z.literal("2"),
    ...table,
    ...meant,
    ...listed,
    number,
    previous: hash,
    corrections,
  }),
]);

export const head = z.strictObject({ checkpoint: number, hash, ...listed });

const chain = { chainId: chainId.nullable() };
const count = z.strictObject({ count: number, sha256: hash });
const stretch = z.strictObject({ ...chain, from: number, through: number, hash });

const BODIES = {
  key: z.union([
    z.strictObject({ keyId, publicKey, ...chain, roots: count, heads: count }),
    z.strictObject({ keyId, publicKey }),
    z.strictObject({ keyId, publicKey, lost: keyId }),
  ]),
  root: z.union([
    z.strictObject({ version: z.literal("1"), ...table }),
    z.strictObject({ version: z.literal("2"), ...table, ...meant }),
  ]),
  head: z.strictObject({ ...chain, checkpoint: number, hash }),
  coin: z.strictObject({ ...chain, coinType, checkpoint: number, facts: number, hash }),
  blocks: stretch,
  inputs: stretch,
  correction: z.union([
    z.strictObject({ of: z.literal("log"), ...chain, through: number, why: z.string() }),
    z.strictObject({ of: z.literal("key"), keyId, from: number, why: z.string() }),
    z.strictObject({
      of: z.literal("root"),
      ...chain,
      coinType,
      roots: z.array(z.strictObject(correctedRoot)).min(1).max(50),
      ...corrected,
    }),
  ]),
  act: z.strictObject({ act: number, sha256: hash }),
} as const;

const entryOf = <Kind extends keyof typeof BODIES>(kind: Kind) =>
  z.strictObject({
    number,
    previous: hash,
    kind: z.literal(kind),
    body: BODIES[kind],
    at: moment,
    keyId,
    signature,
  });

export const sequenceEntry = z.union([
  entryOf("key"),
  entryOf("root"),
  entryOf("head"),
  entryOf("coin"),
  entryOf("blocks"),
  entryOf("inputs"),
  entryOf("correction"),
  entryOf("act"),
]);

export const completeness = z.strictObject({
  format: z.literal("holderbook-completeness"),
  version: z.literal(1),
  chainId,
  coinType,
  packages: z.array(address).max(1_000),
  through: z.strictObject({ checkpoint: number, digest }),
  profile: z.string().regex(/^[a-z0-9][a-z0-9.-]{0,39}$/),
  bytecode: z.array(z.strictObject({ package: address, hash })).max(1_000),
  chains: z.strictObject({ objects: number, versions: number, live: number }),
  closure: z.strictObject({ transactions: number }),
  conservation: z.strictObject({ checkpoints: number, supply: u64 }),
  heads: z.strictObject({
    hash,
    served: z
      .array(
        z.strictObject({
          source: plain(255),
          as: z.enum(["source", "witness"]),
          at: moment,
          same: number,
          changed: number,
        }),
      )
      .max(10),
  }),
  onFaith: z.array(plain(1_000)).max(100),
  keyId,
  publicKey,
  signature,
});
