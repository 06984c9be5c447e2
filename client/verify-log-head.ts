/** Checks the signed log heads of `GET /log-heads`. */
import { canonicalJson } from "./canonical-json.ts";
import { isBase64 } from "./forms.ts";
import { isSignatureOf } from "./sum-tree.ts";

/** A head of the log's hash chain, as in `GET /log-heads`. */
export type LogHead = {
  /** The last checkpoint covered, decimal. */
  readonly checkpoint: string;
  /** Hex of 32 bytes. */
  readonly hash: string;
  /** Base64 of 64 bytes. */
  readonly signature: string;
};

/** The signed content, as RFC 8785 JSON. */
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
 * Whether the deployment signed a head of its log. Keep heads: one that the deployment later omits
 * or shows with another hash proves a changed past.
 * @param known.chainId from `GET /log-heads`
 * @param known.publicKey the deployment's key, base64; `keyId` says which (`GET /deployment-keys`)
 */
export const isLogHeadSigned = (
  { checkpoint, hash, signature }: LogHead,
  { chainId, publicKey }: { readonly chainId: string | null; readonly publicKey: string },
): boolean =>
  isBase64(64)(signature) &&
  isBase64(32)(publicKey) &&
  // The first heads may predate the first source that knew the chain's id.
  [chainId, null].some((id) =>
    isSignatureOf(
      signature,
      canonicalJson(signedLogHead({ chainId: id, checkpoint, hash })),
      publicKey,
    ),
  );
