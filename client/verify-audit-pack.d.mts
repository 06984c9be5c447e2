import type { TierName } from "./pack-error.mjs";

export { AuditPackError, type TierName } from "./pack-error.mjs";

/** A checkpoint of a pack: number and time in milliseconds as decimal texts, digest in base58. */
export type PackMark = {
  readonly checkpoint: string;
  readonly digest: string;
  readonly timestampMs: string;
};

/** SHA-256 in hex, and bytes as a decimal text. */
export type PackFile = { readonly sha256: string; readonly size: string };

export type PackRoot = {
  readonly root: string;
  readonly total: string;
  readonly signature: string;
};

/** A manifest as it stands in its file; numbers are decimal texts. */
export type PackManifest = {
  readonly format: "holderbook-audit-pack";
  readonly version: 1 | 2 | 3;
  /** The network's chain id, as the signer says. */
  readonly chainId: string;
  readonly coinType: string;
  /** Addresses of the contract, as the signer says. */
  readonly packages: readonly string[];
  readonly first: PackMark;
  readonly last: PackMark;
  /**
   * Whether the pack has all facts of the coin since its first one (`whole`, from version 2 on), the
   * checkpoints that the first register came from (`proven`), or the first register stands as `signed`.
   */
  readonly opening: "whole" | "proven" | "signed";
  /**
   * From version 2 on: where the chain of the coin's facts ends, when the opening is whole, and the number of the
   * entry of the deployment's sequence that says the same, as the signer says; numbers are decimal texts.
   */
  readonly coinChain?: {
    readonly facts: string;
    readonly hash: string;
    readonly entry: string;
  } | null;
  /** The committee that all signatures follow from; `checkpoint` ended the epoch before and names it. */
  readonly trust: {
    readonly epoch: string;
    readonly checkpoint: string | null;
    readonly digest: string | null;
  };
  /** Pipeline digests at both checkpoints, for `holderbook compare`. */
  readonly digests: {
    readonly first: Readonly<Record<string, string>>;
    readonly last: Readonly<Record<string, string>>;
  };
  /** Signed as `GET /roots` shows them. */
  readonly roots: { readonly first: PackRoot; readonly last: PackRoot };
  readonly holderNames: PackFile | null;
  readonly keyId: string;
  /** Base64 of the deployment's key. */
  readonly publicKey: string;
  /** Every file but the manifest and its signature. */
  readonly files: Readonly<Record<string, PackFile>>;
};

/** The finding for one tier. */
export type Tier = {
  /** Null: neither shown nor refuted. */
  readonly holds: boolean | null;
  /** What it rests on, in words. */
  readonly by: readonly string[];
  /** What remains open, in words. */
  readonly not_shown: readonly string[];
};

/**
 * `authentic`: signed by the key that the caller knows, over these bytes; `consistent`: tables, movements and
 * report follow from the facts; `complete`: nothing of the range is missing.
 */
export type Verdict = Readonly<Record<TierName, Tier>>;

/** One register of a pack. */
export type PackRegister = {
  readonly checkpoint: bigint;
  /** Base58. */
  readonly digest: string;
  /** Hex, as it was signed and computed anew from the rows. */
  readonly root: string;
  /** What all rows add up to, in the smallest unit. */
  readonly total: bigint;
  readonly rows: number;
  /** Null where they are not known. */
  readonly decimals: number | null;
};

/** A pack of which everything that was checked holds. */
export type VerifiedPack = {
  /** As the signer says. */
  readonly chainId: string;
  readonly coinType: string;
  readonly first: PackRegister;
  readonly last: PackRegister;
  readonly movements: number;
  /** `signed`: the first register stands as the deployment signed it, without the checkpoints it came from. */
  readonly opening: PackManifest["opening"];
  /** The validators that the pack begins with; not verified here. */
  readonly trust: PackManifest["trust"];
  /** Base64 of the key that signed it. */
  readonly publicKey: string;
  readonly manifest: PackManifest;
  /** What is shown, by what, and what is not: show it with anything else of the pack. */
  readonly verdict: Verdict;
  /** Which checks were made, in words: `by` of all tiers. */
  readonly checked: readonly string[];
  /** What was not checked, and what does check it: `not_shown` of all tiers. */
  readonly unchecked: readonly string[];
};

/** Of every `VerifiedPack`'s `unchecked`. */
export declare const UNCHECKED: readonly string[];

/** What each tier means. */
export declare const TIERS: Readonly<Record<TierName, string>>;

/** A verdict in lines for people. */
export declare const verdictLines: (verdict: Verdict) => readonly string[];

/** The verdict on a pack that was refused. */
export declare const failedVerdict: (error: {
  readonly tier: TierName;
  readonly message: string;
}) => Verdict;

/**
 * Checks what of an audit pack can be checked without a ledger: the manifest's signature and those of both
 * roots, size and SHA-256 of every file, the form of every line, both roots from their rows, and that the
 * movements lead from the first register to the last. `holderbook audit-pack verify` does that and folds the
 * facts as well, back to the validators' signatures: a pack that is not refused here may still be refused there,
 * so `verdict.consistent.holds` and `verdict.complete.holds` are null here.
 *
 * @param files by path below the pack's folder, such as `first/cap-table.json`; blobs are read one at a time
 * @param options.publicKey the deployment's key, base64, as you know it from elsewhere
 * @param options.hash SHA-256 of a file in lower-case hex, where the runtime has one that reads in pieces
 * @param options.told is given how many files were hashed, of how many
 * @throws AuditPackError naming everything in the first step that does not hold
 * @throws Error where the runtime cannot hash: a page that came over plain http
 */
export declare const verifyAuditPack: (
  files: Iterable<readonly [path: string, file: Blob | Uint8Array<ArrayBuffer>]>,
  options?: {
    readonly publicKey?: string | undefined;
    readonly signal?: AbortSignal | undefined;
    readonly hash?: ((file: Blob) => Promise<string>) | undefined;
    readonly told?: ((done: number, of: number) => void) | undefined;
  },
) => Promise<VerifiedPack>;
