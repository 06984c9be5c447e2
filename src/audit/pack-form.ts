/** The form of an audit pack: its files, its manifest, and what is signed. */
import { z } from "zod";
import type { Remedy } from "../waiting/remedy.ts";

export const PACK_FORMAT = "holderbook-audit-pack";

/** The files of a pack; checkpoints and ends of epochs have one each, named by their numbers. */
export const FILES = {
  manifest: "manifest.json",
  signature: "manifest.sig.json",
  report: "report.md",
  committee: "committee.json",
  firstTable: "first/cap-table.json",
  firstState: "first/state.ndjson",
  lastTable: "last/cap-table.json",
  movements: "movements.ndjson",
  holderEvents: "holder-events.ndjson",
  roleEvents: "role-events.ndjson",
} as const;

export const CHECKPOINTS = "checkpoints";
export const EPOCHS = "epochs";

/** Where the excerpt of a checkpoint is. */
export const excerptFile = (folder: typeof CHECKPOINTS | typeof EPOCHS, sequence: bigint): string =>
  `${folder}/${sequence}.binpb`;

/** Something in a pack does not hold. Do not rely on the pack. */
export class AuditPackError extends Error {
  override readonly name = "AuditPackError";
  readonly remedy: Remedy = "stop";
  /** The file that it is in. */
  readonly file: string;

  constructor(file: string, what: string, options?: ErrorOptions) {
    super(`${file}: ${what}`, options);
    this.file = file;
  }
}

const number = z
  .string()
  .regex(/^(0|[1-9]\d{0,38})$/, "must be a whole number, as a text")
  .transform(BigInt);
const hash = z.string().regex(/^[0-9a-f]{64}$/, "must be 64 hex digits");

const mark = z.strictObject({ checkpoint: number, digest: z.string(), timestampMs: number });
const digests = z.record(z.string(), hash);
const root = z.strictObject({ root: hash, total: number, signature: z.string() });
const file = z.strictObject({ sha256: hash, size: number });

export const manifestSchema = z.strictObject({
  format: z.literal(PACK_FORMAT),
  version: z.literal(1),
  /** Of the ledger's network. */
  chainId: z.string(),
  coinType: z.string(),
  /** Addresses of the contract. */
  packages: z.array(z.string()),
  first: mark,
  last: mark,
  /** Whether the pack has the checkpoints that the first register came from, or it stands as signed. */
  opening: z.enum(["proven", "signed"]),
  /** The committee that all signatures follow from; `checkpoint` ended the epoch before and names it. */
  trust: z.strictObject({
    epoch: number,
    checkpoint: number.nullable(),
    digest: z.string().nullable(),
  }),
  /** Of each pipeline, at both checkpoints: for `holderbook compare`. */
  digests: z.strictObject({ first: digests, last: digests }),
  /** Signed as `GET /roots` shows them. */
  roots: z.strictObject({ first: root, last: root }),
  holderNames: file.nullable(),
  keyId: z.string(),
  /** Base64 of the deployment's key. */
  publicKey: z.string(),
  /** Every file but the manifest and its signature. */
  files: z.record(z.string(), file),
});

/** A manifest as it is read. */
export type Manifest = z.infer<typeof manifestSchema>;

/** What is known of a pack before its files are there. */
export type PackHead = Omit<Manifest, "files">;

/** What the deployment's key signs. */
export const signedPack = (sha256: string) =>
  ({ purpose: "holderbook-audit-pack-v1", manifestSha256: sha256 }) as const;
