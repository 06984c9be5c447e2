/** A head of the log's hash chain, as `GET /log-heads` lists it. */
export type LogHead = {
  /** The last checkpoint that the hash covers, decimal. */
  readonly checkpoint: string;
  /** Hex of 32 bytes. */
  readonly hash: string;
  /** Base64 of 64 bytes. */
  readonly signature: string;
};

/** What the signature of a head is over, as RFC 8785 JSON. */
export declare const signedLogHead: (
  head: Pick<LogHead, "checkpoint" | "hash"> & { readonly chainId: string | null },
) => {
  readonly purpose: "holderbook-log-head-v1";
  readonly chainId: string | null;
  readonly checkpoint: string;
  readonly hash: string;
};

/**
 * Whether the deployment signed a head of its log. Keep heads: one that you have and that the deployment no
 * longer shows, or shows with another hash, proves that its past was changed.
 *
 * @param known.chainId as `GET /log-heads` says it
 * @param known.publicKey the deployment's key, base64; which one it was, `keyId` tells (`GET /deployment-keys`)
 */
export declare const isLogHeadSigned: (
  head: LogHead,
  known: { readonly chainId: string | null; readonly publicKey: string },
) => boolean;
