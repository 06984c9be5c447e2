/**
 * Certificates of completeness: what a deployment found when it looked for missing transactions of
 * a token. The signature binds the deployment to its claims; a verifier computes them from facts.
 */
import { canonicalJson } from "./canonical-json.ts";
import {
  address,
  chainId,
  digest,
  exactly,
  hash,
  isBelow,
  isFormed,
  keyId,
  like,
  listOf,
  type Members,
  membersOf,
  moment,
  must,
  oneOf,
  plainText,
  publicKey,
  signature,
  type,
} from "./forms.ts";
import { hexOf, isSignatureOf, utf8 } from "./sum-tree.ts";

const count = must(isBelow(63n), "a whole number below 2^63, as a text");
const u64 = must(isBelow(64n), "a whole number below 2^64, as a text");

const head = membersOf({
  /** As the operator named it, without credentials. */
  source: plainText(255),
  /** The node that guided the reading, or a second one. */
  as: oneOf("source", "witness"),
  /** When it was asked. */
  at: moment,
  /** Live objects that it serves in this version. */
  same: count,
  /** Live objects changed since: it serves a later version, to which the log has every version. */
  changed: count,
});

const CERTIFICATE = {
  format: exactly("holderbook-completeness"),
  version: exactly(1),
  chainId,
  coinType: type,
  /** The contract's addresses, first version first. */
  packages: listOf(address, 1_000),
  /** Everything below holds up to this checkpoint, included. */
  through: membersOf({ checkpoint: count, digest }),
  /** Which function takes and makes what (`src/ledger/contract/profile.ts`). */
  profile: like(/^[a-z0-9][a-z0-9.-]{0,39}$/, "a profile's name"),
  /** The code it holds for: SHA-256 over each version's modules. */
  bytecode: listOf(membersOf({ package: address, hash }), 1_000),
  /** Objects of the token that ever existed, their versions, and those alive at the end. */
  chains: membersOf({ objects: count, versions: count, live: count }),
  /** Transactions, each explained by the profile. */
  closure: membersOf({ transactions: count }),
  /** Checkpoints after which tokens and grants come to the supply; the supply at the end. */
  conservation: membersOf({ checkpoints: count, supply: u64 }),
  /** `hash` of the live objects (`headsHash`), and who serves them so. */
  heads: membersOf({ hash, served: listOf(head, 10) }),
  /** What rests on somebody's word, and on whose. */
  onFaith: listOf(plainText(1_000), 100),
  keyId,
  /** The deployment's key, base64. */
  publicKey,
  signature,
};

/** Numbers are decimal texts. */
export type CompletenessCertificate = Members<typeof CERTIFICATE>;

export const certificateFaults = (json: unknown): readonly string[] => {
  const faults = membersOf(CERTIFICATE)(json, "it");
  if (!isFormed<CompletenessCertificate>(json, faults)) return faults;
  const { served } = json.heads;
  const live = BigInt(json.chains.live);
  return served.every(({ same, changed }) => BigInt(same) + BigInt(changed) === live)
    ? []
    : [`heads.served must each come to the ${live} live objects`];
};

/** The signed content, as RFC 8785 JSON. */
export const signedCertificate = ({
  signature: _,
  ...claims
}: Omit<CompletenessCertificate, "signature"> & { readonly signature?: string }) => ({
  purpose: "holderbook-completeness-v1" as const,
  ...claims,
});

/** Whether the key that a certificate names signed it. */
export const isCertificateSigned = (
  certificate: CompletenessCertificate,
  isSigned: typeof isSignatureOf = isSignatureOf,
): boolean =>
  isSigned(
    certificate.signature,
    canonicalJson(signedCertificate(certificate)),
    certificate.publicKey,
  );

/** A live object of the token, in its newest version. */
export type Head = { readonly objectId: string; readonly version: bigint };

/** SHA-256 (hex) over a line for each head, `objectId version` and LF, ascending by id. */
export const headsHash = async (heads: Iterable<Head>): Promise<string> => {
  const lines = [...heads].map(({ objectId, version }) => `${objectId} ${version}\n`).sort();
  return hexOf(new Uint8Array(await crypto.subtle.digest("SHA-256", utf8(lines.join("")))));
};
