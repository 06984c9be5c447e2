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
};

/** A pack of which everything that was checked holds. */
export type VerifiedPack = {
  readonly chainId: string;
  readonly coinType: string;
  readonly first: PackRegister;
  readonly last: PackRegister;
  readonly movements: number;
  /** `signed`: the first register stands as the deployment signed it, without the checkpoints it came from. */
  readonly opening: string;
  /** The validators that the pack begins with; not verified here. */
  readonly trust: Readonly<Record<string, string | null>>;
  /** Base64 of the key that signed it. */
  readonly publicKey: string;
  /** Which checks were made, in words. */
  readonly checked: readonly string[];
  /** What was not checked, and what does check it. Show it beside any verdict. */
  readonly unchecked: readonly string[];
};

/** Something in a pack does not hold. Stop: do not rely on it. */
export declare class AuditPackError extends Error {
  override readonly name: "AuditPackError";
  readonly remedy: "stop";
  /** Each thing that does not hold, with its file; never empty, 101 at most. */
  readonly failures: readonly { readonly file: string; readonly what: string }[];
  constructor(failures: readonly { readonly file: string; readonly what: string }[]);
}

/** As in every `VerifiedPack`. */
export declare const UNCHECKED: readonly string[];

/**
 * Checks what of an audit pack can be checked without a ledger: the manifest's signature and those of both
 * roots, size and SHA-256 of every file, both roots from their rows, and that the movements lead from the
 * first register to the last. `holderbook audit-pack verify` does that and folds the facts as well, back to
 * the validators' signatures: a pack that holds here may still be refused there.
 *
 * @param files by path below the pack's folder, such as `first/cap-table.json`; blobs are read one at a time
 * @param options.publicKey the deployment's key, base64, as you know it from elsewhere
 * @throws AuditPackError naming everything in the first step that does not hold
 * @throws Error where the runtime cannot hash: a page that came over plain http
 */
export declare const verifyAuditPack: (
  files: Iterable<readonly [path: string, file: Blob | Uint8Array<ArrayBuffer>]>,
  options?: {
    readonly publicKey?: string | undefined;
    readonly signal?: AbortSignal | undefined;
  },
) => Promise<VerifiedPack>;
