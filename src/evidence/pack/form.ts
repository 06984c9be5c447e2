/** The form of an audit pack: its files, its manifest, and what is wrong with it. */
import type {
  PackFile,
  PackManifest,
  PackMark,
  PackRoot,
} from "../../../client/verify-audit-pack.ts";
import { AuditPackError, type TierName } from "../../../client/verify-audit-pack.ts";

export { AuditPackError } from "../../../client/verify-audit-pack.ts";

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
  acts: "acts.ndjson",
} as const;

export const CHECKPOINTS = "checkpoints";
export const EPOCHS = "epochs";

/** Where the excerpt of a checkpoint is. */
export const excerptFile = (folder: typeof CHECKPOINTS | typeof EPOCHS, sequence: bigint): string =>
  `${folder}/${sequence}.binpb`;

/** Something in a pack does not hold. Do not rely on the pack. */
export const packError = (file: string, what: string, tier?: TierName): AuditPackError =>
  new AuditPackError([{ file, what }], tier);

/** Numbers of the manifest's JSON, which has them as texts. */
type Exact<T, Names extends keyof T> = {
  readonly [Name in keyof T]: Name extends Names ? bigint : T[Name];
};

type Mark = Exact<PackMark, "checkpoint" | "timestampMs">;
type Root = Exact<PackRoot, "total">;
type File = Exact<PackFile, "size">;

/** A manifest whose form was checked. */
export type Manifest = Omit<
  PackManifest,
  "first" | "last" | "trust" | "roots" | "holderNames" | "files"
> & {
  readonly first: Mark;
  readonly last: Mark;
  /** The committee that all signatures follow from; `checkpoint` ended the epoch before and names it. */
  readonly trust: {
    readonly epoch: bigint;
    readonly checkpoint: bigint | null;
    readonly digest: string | null;
  };
  readonly roots: { readonly first: Root; readonly last: Root };
  readonly holderNames: File | null;
  /** Every file but the manifest and its signature. */
  readonly files: Readonly<Record<string, File>>;
};

/** What is known of a pack before its files are there. */
export type PackHead = Omit<Manifest, "files">;

const markIn = ({ checkpoint, digest, timestampMs }: PackMark): Mark => ({
  checkpoint: BigInt(checkpoint),
  digest,
  timestampMs: BigInt(timestampMs),
});

const rootIn = ({ total, ...rest }: PackRoot): Root => ({ ...rest, total: BigInt(total) });

const fileIn = ({ sha256, size }: PackFile): File => ({ sha256, size: BigInt(size) });

/** The same with numbers. */
export const manifestIn = (json: PackManifest): Manifest => {
  const { first, last, trust, roots, holderNames, files } = json;
  const { epoch, checkpoint, digest } = trust;
  return {
    ...json,
    first: markIn(first),
    last: markIn(last),
    trust: {
      epoch: BigInt(epoch),
      checkpoint: checkpoint === null ? null : BigInt(checkpoint),
      digest,
    },
    roots: { first: rootIn(roots.first), last: rootIn(roots.last) },
    holderNames: holderNames === null ? null : fileIn(holderNames),
    files: Object.fromEntries(Object.entries(files).map(([path, file]) => [path, fileIn(file)])),
  };
};
