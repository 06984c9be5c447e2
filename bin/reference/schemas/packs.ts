/** An audit pack's JSON: files, and lines of files. */
import { z } from "zod";
import { CAUSES } from "../../../src/projections/balance-changes.ts";
import {
  address,
  amount,
  anyType,
  base64,
  blsKey,
  chainId,
  change,
  coinType,
  decimals,
  digest,
  hash,
  index,
  keyId,
  moment,
  number,
  plain,
  positive,
  publicKey,
  rowAmounts,
  signature,
  timeMs,
  typeName,
  u64,
} from "./values.ts";

const file = z.strictObject({ sha256: hash, size: number });
const mark = z.strictObject({ checkpoint: number, digest, timestampMs: timeMs });
const root = z.strictObject({ root: hash, total: amount, signature });
const digests = z.record(z.string().regex(/^[a-z_]{1,40}$/), hash).meta({ maxProperties: 20 });

const FIXED = [
  "report.md",
  "committee.json",
  "first/cap-table.json",
  "first/state.ndjson",
  "last/cap-table.json",
  "movements.ndjson",
  "holder-events.ndjson",
  "role-events.ndjson",
];
const EXCERPT = "(?:checkpoints|epochs)/(?:0|[1-9][0-9]{0,17})\\.binpb";
const WITH_LATER = `${EXCERPT.replace("epochs", "epochs|later")}|objects/(?:0|[1-9][0-9]{0,17})\\.bin`;

/** Exactly these paths, and excerpts. */
const filesOf = (fixed: readonly string[], excerpt = EXCERPT) => {
  const paths = fixed.map((path) => path.replaceAll(".", "\\.")).join("|");
  return z.intersection(
    z.record(z.string().regex(new RegExp(`^(?:${paths}|${excerpt})$`)), file),
    z.looseObject(Object.fromEntries(fixed.map((path) => [path, file]))),
  );
};

const shared = {
  format: z.literal("holderbook-audit-pack"),
  chainId,
  coinType,
  packages: z.array(address).max(1_000),
  first: mark,
  last: mark,
  trust: z.strictObject({
    epoch: number,
    checkpoint: number.nullable(),
    digest: digest.nullable(),
  }),
  digests: z.strictObject({ first: digests, last: digests }),
  roots: z.strictObject({ first: root, last: root }),
  holderNames: file.nullable(),
  keyId,
  publicKey,
};
const whole = {
  opening: z.enum(["whole", "proven", "signed"]),
  coinChain: z.strictObject({ facts: number, hash, entry: number }).nullable(),
};

export const manifest1 = z.strictObject({
  ...shared,
  version: z.literal(1),
  opening: z.enum(["proven", "signed"]),
  files: filesOf(FIXED),
});
export const manifest2 = z.strictObject({
  ...shared,
  ...whole,
  version: z.literal(2),
  files: filesOf(FIXED),
});
export const manifest3 = z.strictObject({
  ...shared,
  ...whole,
  version: z.literal(3),
  files: filesOf([...FIXED, "acts.ndjson"]),
});

export const manifest4 = z.strictObject({
  ...shared,
  ...whole,
  version: z.literal(4),
  opening: z.literal("whole"),
  files: filesOf([...FIXED, "acts.ndjson", "certificate.json"], WITH_LATER),
});

export const signatureFile = z.strictObject({ signature });

export const committee = z.strictObject({
  epoch: number,
  members: z.array(z.strictObject({ publicKey: blsKey, stake: number })).max(4_096),
});

/** The first line of a table, closed by `]}`. */
export const tableHead = z.strictObject({
  coinType,
  decimals,
  checkpoint: number,
  checkpointTimestamp: number,
  checkpointDigest: digest,
  totalSupply: u64.nullable(),
  issued: amount,
  holderCount: z.int().min(0),
  root: hash,
  rows: z.array(z.never()).max(0),
});

/** Other lines, without the trailing comma. */
export const tableRow = z.strictObject({
  holderId: u64.nullable(),
  wallets: z
    .array(
      z.strictObject({ address, balance: amount, groupId: u64.nullable(), isFrozen: z.boolean() }),
    )
    .min(1)
    .max(10_000),
  ...rowAmounts,
});

const event = { position: u64, txDigest: digest, timestampMs: timeMs };

export const movement = z.strictObject({
  ...event,
  owner: address,
  part: z.enum(["TOKENS", "GRANTS"]),
  cause: z.enum(CAUSES),
  change,
  balanceAfter: amount,
});

export const holderEvent = z.strictObject({
  ...event,
  eventType: z.enum([
    "holder_added",
    "holder_removed",
    "holder_address_added",
    "holder_address_removed",
    "address_joined_group",
    "address_left_group",
    "address_frozen",
  ]),
  holderId: u64.nullable(),
  address: address.nullable(),
  groupId: u64.nullable(),
  isFrozen: z.boolean().nullable(),
});

export const roleEvent = z.strictObject({
  ...event,
  owner: address,
  role: anyType,
  granted: z.boolean(),
  signer: address,
});

export const state = z.union([
  z.strictObject({
    kind: z.literal("object"),
    objectId: address,
    version: u64,
    type: coinType,
    name: typeName,
    checkpoint: number,
    transaction: index,
    index,
    txDigest: digest,
    sender: address,
    timestampMs: timeMs,
    contents: base64,
  }),
  z.strictObject({
    kind: z.literal("membership"),
    address,
    aspect: z.enum(["holder", "group", "freeze"]),
    value: u64,
    checkpoint: number,
  }),
  z.strictObject({
    kind: z.literal("role"),
    owner: address,
    role: anyType,
    checkpoint: number,
  }),
]);

export const act = z.strictObject({
  number: positive,
  at: moment,
  command: z.string().regex(/^[a-z][a-z-]{0,39}(?: [a-z][a-z-]{0,39}){0,2}$/),
  details: z
    .record(z.string().regex(/^[A-Za-z]{1,40}$/), z.union([plain(2_000), z.boolean(), z.null()]))
    .meta({ maxProperties: 20 }),
  by: z.strictObject({ user: plain(200), host: plain(255), role: plain(200) }),
  scope: z.enum(["deployment", "coin"]),
  coinType: coinType.nullable(),
  salt: z.string().regex(/^[0-9a-f]{32}$/),
  entry: number.nullable(),
});
