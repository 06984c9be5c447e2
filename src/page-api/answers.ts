/** Answers of the page's routes. Imports zod only: the page shares these types. */
import { z } from "zod";

const page = (placeholder: string) =>
  z.string().nullable().describe(`Address of a page, with {${placeholder}} in it.`);

export const pageSettingsAnswer = z.object({
  version: z.string(),
  chain: z.string().nullable().describe("Digest of the chain's first checkpoint, base58."),
  network: z.enum(["mainnet", "testnet", "devnet", "demo"]).nullable(),
  explorer: z
    .object({
      transaction: page("digest"),
      account: page("address"),
      object: page("objectId"),
      checkpoint: page("checkpoint"),
    })
    .nullable(),
  demo: z
    .object({
      tour: z.boolean().describe("Whether `POST /demo/tour` is available."),
      operator: z.boolean().describe("Whether `POST /demo/operator` is available."),
    })
    .nullable()
    .describe("Only on the demo ledger."),
});

export const statusHistoryAnswer = z.object({
  points: z
    .array(
      z.object({
        at: z.iso.datetime(),
        lagSeconds: z
          .record(z.string(), z.number())
          .describe("Age of the last checkpoint of each pipeline, by its name."),
        checkpointsPerSecond: z
          .number()
          .nullable()
          .describe("Appended to the log since the point before; null for the first."),
      }),
    )
    .describe("One a minute, the last 24 hours, oldest first; none while no process indexed."),
});

export const sessionAnswer = z.object({
  keyId: z.string(),
  kind: z.enum(["graphql", "operator"]),
  label: z.string().nullable(),
});

export const lentSessionAnswer = z.object({
  key: z.string().describe("A key of the kind graphql."),
});

export const lentOperatorAnswer = z.object({
  key: z.string().describe("A key of the kind operator."),
});

const base64 = (what: string) => z.string().describe(`${what}, base64.`);

const number = (what: string) => z.string().describe(`${what}, decimal.`);

const signer = z.object({
  index: z.int().describe("Its index in the committee, from 0."),
  publicKey: base64("BLS key, 96 bytes"),
  stake: number("Votes, of 10,000 in all"),
});

export const proofAnswer = z.object({
  checkpoint: number("The checkpoint"),
  digest: z.string().describe("Base58."),
  timestamp: z.iso.datetime(),
  epoch: number("Its epoch").nullable().describe("Null without a signature."),
  previousDigest: z.string().nullable().describe("Null where the log begins with it."),
  contentDigest: z
    .string()
    .nullable()
    .describe("Digest of the checkpoint's contents; null where only a later one was signed."),
  verification: z
    .enum(["signatures", "links", "none"])
    .describe(
      "signatures: a quorum of the validators signed it, or a later one that its digest leads to; links: only digests were verified, no signature, by the current settings; none: nothing was verified.",
    ),
  how: z.string().describe("The same in words."),
  signedCheckpoint: z
    .object({
      checkpoint: number("The checkpoint that was signed"),
      digest: z.string(),
      links: z.int().describe("Checkpoints from the requested one to the signed one; 0: the same."),
    })
    .nullable(),
  summaryBcs: base64("The summary of the signed checkpoint, its BCS").nullable(),
  certificate: z
    .object({
      epoch: number("The epoch whose committee signed"),
      signature: base64("BLS signature, 48 bytes"),
      signersBitmap: base64("Indexes of the signers as a roaring bitmap"),
      signers: z.array(signer),
      signedStake: number("Votes of the signers"),
      totalStake: number("Votes of the committee"),
      threshold: number("Votes that certify"),
    })
    .nullable(),
  committee: z
    .object({
      epoch: number("Its epoch"),
      namedBy: number("The checkpoint that names it")
        .nullable()
        .describe("Null for the one that the operator trusted."),
      members: z.array(signer.extend({ signed: z.boolean() })),
    })
    .nullable(),
  pipelineDigests: z
    .array(
      z.object({
        pipeline: z.string(),
        digest: z.string().nullable().describe("Hex; null while it is not known."),
      }),
    )
    .describe("Digests over all rows of each pipeline, up to this checkpoint."),
});

export const tourBegunAnswer = z.object({
  tourId: z.uuid(),
  requestId: z.uuid(),
  wallet: z.string(),
  asset: z.string(),
  coinType: z.string(),
});

export const tourAnswer = z.object({
  wallet: z.string(),
  asset: z.string(),
  coinType: z.string(),
  request: z.object({
    status: z.enum(["QUEUED", "PENDING", "SUCCESS", "FAILED"]),
    history: z.array(z.object({ at: z.iso.datetime(), status: z.string(), message: z.string() })),
  }),
  txId: z.string().nullable().describe("Digest of its transaction."),
  checkpoint: z.string().nullable().describe("Where the register has it, decimal."),
  holderEvent: z
    .object({
      eventType: z.string(),
      address: z.string().nullable(),
      groupId: z.string().nullable(),
      position: z.string().describe("As in `holderEvents` of GraphQL."),
    })
    .nullable()
    .describe("The wallet joins its group in the register."),
  delivery: z
    .object({
      id: z.string(),
      state: z.enum(["pending", "withdrawn", "delivered", "failed", "disabled"]),
      attempts: z.int(),
    })
    .nullable()
    .describe("The callback."),
  done: z.boolean().describe("Nothing more will happen."),
});

const hex = z.string().regex(/^[0-9a-f]{64}$/);
const signature = z.string().describe("Ed25519, base64; docs/reference/formats.md says over what.");

const rootValue = z.object({ root: hex, total: z.string() });
const rootCorrection = z.object({
  number: z.string().describe("Entry of the sequence that says so."),
  at: z.iso.datetime(),
  version: z.enum(["1", "2"]),
  checkpoint: z.string(),
  from: rootValue.describe("The root that was published before."),
  to: rootValue.describe("The root that holds instead."),
  by: z.string().describe("Who corrected it, as given by the operator."),
  why: z.string(),
});

export const rootsAnswer = z.object({
  roots: z
    .array(
      z.object({
        chainId: z.string().nullable(),
        coinType: z.string(),
        checkpoint: z.string(),
        checkpointDigest: z.string(),
        root: hex.describe("Root of the Merkle sum tree over the rows of the cap table."),
        total: z.string().describe("Sum of all rows, in the coin's smallest unit."),
        keyId: z.string(),
        signature,
        signedAt: z.iso.datetime(),
        number: z
          .string()
          .nullable()
          .describe(
            "Number of the sequence entry that published it; null for a root from before the sequence. `signedAt` is its `at`.",
          ),
        version: z
          .literal("2")
          .optional()
          .describe("Only in version 2, like all members after it."),
        decimals: z
          .string()
          .nullable()
          .optional()
          .describe("Null while they were not known; the root covers them."),
        checkpointTimestampMs: z.string().optional(),
        previous: hex.optional().describe("SHA-256 of the entry before."),
        corrections: z
          .array(rootCorrection)
          .describe(
            "Corrections of this root, in the order of their entries: the `to` of the last one holds. Empty for most.",
          ),
      }),
    )
    .describe("Newest checkpoint first."),
  next: z.string().nullable().describe("Give it as `after` for the next page; null at the end."),
});

export const logHeadsAnswer = z.object({
  chainId: z.string().nullable(),
  heads: z
    .array(
      z.object({
        checkpoint: z.string().describe("The last checkpoint that the hash covers."),
        hash: hex.describe("Hash of the chain over the facts of the log."),
        keyId: z.string(),
        signature,
        signedAt: z.iso.datetime(),
      }),
    )
    .describe("Newest checkpoint first."),
  next: z.string().nullable().describe("Give it as `after` for the next page; null at the end."),
});

export const sequenceAnswer = z.object({
  entries: z
    .array(
      z.object({
        number: z.string().describe("From 0, without gaps."),
        previous: hex.describe("SHA-256 of the entry before; 64 zeros for number 0."),
        kind: z.string(),
        body: z.record(z.string(), z.unknown()),
        at: z.iso.datetime(),
        keyId: z.string(),
        signature,
      }),
    )
    .describe("Ascending."),
  next: z.string().nullable().describe("Give it as `after` for the next page; null at the end."),
});

export const deploymentKeysAnswer = z.object({
  algorithm: z.literal("ed25519"),
  keys: z
    .array(
      z.object({
        keyId: z.string(),
        publicKey: z.string().describe("Base64 of 32 bytes."),
        madeAt: z.iso.datetime(),
        revoked: z
          .object({
            entry: z.string().describe("Number of the entry that says so."),
            from: z.string(),
            why: z.string(),
            at: z.iso.datetime(),
          })
          .nullable()
          .describe(
            "What it signed in entries numbered `from` and above is not trusted; null unless it was revoked.",
          ),
        lost: z
          .object({ entry: z.string(), at: z.iso.datetime() })
          .nullable()
          .describe("The entry that declares it lost; null without one."),
      }),
    )
    .describe("Newest first; the newest one signs. Empty until something was signed."),
});
