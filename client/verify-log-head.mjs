/** Checks a signed head of the log: what `GET /log-heads` gave out, and nobody can take back. */
import { canonicalJson } from "./canonical-json.mjs";
import { isBase64, isSignatureOf } from "./sum-tree.mjs";

export const signedLogHead = ({ chainId, checkpoint, hash }) => ({
  purpose: "holderbook-log-head-v1",
  chainId,
  checkpoint,
  hash,
});

export const isLogHeadSigned = ({ checkpoint, hash, signature }, { chainId, publicKey }) =>
  isBase64(64)(signature) &&
  isBase64(32)(publicKey) &&
  // The first heads may be older than the first source that could tell the chain's id.
  [chainId, null].some((id) =>
    isSignatureOf(
      signature,
      canonicalJson(signedLogHead({ chainId: id, checkpoint, hash })),
      publicKey,
    ),
  );
