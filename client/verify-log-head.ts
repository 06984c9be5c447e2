/** Checks a signed head of the log, which `GET /log-heads` publishes. */
import { canonicalJson } from "./canonical-json.ts";
import { isBase64 } from "./forms.ts";
import { isSignatureOf } from "./sum-tree.ts";

/** A head of the log's hash chain, as `GET /log-heads` lists it. */
export type LogHead = {
  /** The last checkpoint that the hash covers, decimal. */
  readonly checkpoint: string;
  /** Hex of 32 bytes. */
  readonly hash: string;
  /** Base64 of 64 bytes. */
  readonly signature: string;
};

/** The content that the signature of a head is over, as RFC 8785 JSON. */
export const signedLogHead = ({
  chainId,
  checkpoint,
  hash,
}: Pick<LogHead, "checkpoint" | "hash"> & { readonly chainId: string | null }) => ({
  purpose: "holderbook-log-head-v1" as const,
  chainId,
  checkpoint,
  hash,
});

/**
 * Whether the deployment signed a head of its log. Keep heads: one that you have and that the deployment no
 * longer shows, or shows with another hash, proves that its past was changed.
 *
 * @param known.chainId as `GET /log-heads` says it
 * @param known.publicKey the deployment's key, base64; which one it was, `keyId` tells (`GET /deployment-keys`)
 */
export const isLogHeadSigned = (
  { checkpoint, hash, signature }: LogHead,
  { chainId, publicKey }: { readonly chainId: string | null; readonly publicKey: string },
): boolean =>
  isBase64(64)(signature) &&
  isBase64(32)(publicKey) &&
  // The first heads may be older than the first source that knew the chain's id.
  [chainId, null].some((id) =>
    isSignatureOf(
      signature,
      canonicalJson(signedLogHead({ chainId: id, checkpoint, hash })),
      publicKey,
    ),
  );
