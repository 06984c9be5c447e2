/** What the service publishes for others to check: proofs of checkpoints, roots, log heads, its keys. */
import { type Reader, reading, text, time } from "./read.ts";

/** For `usePath`: each reads the answer of the path it is named for. */
export const readProof = reading("proof", (it) => ({
  checkpoint: it.at("checkpoint").text(),
  /** Base58, as all digests of the ledger. */
  digest: it.at("digest").text(),
  timestampMs: time(it.at("timestamp")),
  epoch: it.at("epoch").maybe(text),
  previousDigest: it.at("previousDigest").maybe(text),
  contentDigest: it.at("contentDigest").maybe(text),
  /** signatures, links or none. */
  verification: it.at("verification").text(),
  /** The same in words. */
  how: it.at("how").text(),
  signedCheckpoint: it.at("signedCheckpoint").maybe((signed) => ({
    checkpoint: signed.at("checkpoint").text(),
    digest: signed.at("digest").text(),
    /** Checkpoints that lead from the one asked for to it; 0: the same. */
    links: signed.at("links").number(),
  })),
  /** Of the signed checkpoint: its BCS, base64. */
  summaryBcs: it.at("summaryBcs").maybe(text),
  certificate: it.at("certificate").maybe(certificate),
  committee: it.at("committee").maybe((committee) => ({
    epoch: committee.at("epoch").text(),
    /** The checkpoint that names it; null for the one that the operator trusted. */
    namedBy: committee.at("namedBy").maybe(text),
    members: committee.at("members").list(validator),
  })),
  pipelineDigests: it.at("pipelineDigests").list((one) => ({
    pipeline: one.at("pipeline").text(),
    /** Hex; null while it is not known. */
    digest: one.at("digest").maybe(text),
  })),
}));
export type CheckpointProof = ReturnType<typeof readProof>;

const certificate = (it: Reader) => ({
  epoch: it.at("epoch").text(),
  /** BLS, base64. */
  signature: it.at("signature").text(),
  signers: it.at("signers").list(() => null).length,
  signedStake: it.at("signedStake").amount(),
  totalStake: it.at("totalStake").amount(),
  /** Votes that certify. */
  threshold: it.at("threshold").amount(),
});
export type Certificate = ReturnType<typeof certificate>;

const validator = (it: Reader) => ({
  /** Its place in the committee, from 0. */
  index: it.at("index").number(),
  /** Base64. */
  publicKey: it.at("publicKey").text(),
  /** Votes. */
  stake: it.at("stake").amount(),
  signed: it.at("signed").flag(),
});
export type Validator = ReturnType<typeof validator>;

/** Signed roots of tokens' cap tables. */
export const readRoots = reading("roots", (it) =>
  it.at("roots").list((root) => ({
    checkpoint: root.at("checkpoint").text(),
    root: root.at("root").text(),
    total: root.at("total").amount(),
    signedAtMs: time(root.at("signedAt")),
  })),
);

/** Signed heads of the log's hash chain. */
export const readLogHeads = reading("log heads", (it) => it.at("heads").list(logHead));

const logHead = (it: Reader) => ({
  checkpoint: it.at("checkpoint").text(),
  hash: it.at("hash").text(),
  signedAtMs: time(it.at("signedAt")),
});
export type LogHead = ReturnType<typeof logHead>;

export const readDeploymentKeys = reading("deployment keys", (it) =>
  it.at("keys").list((key) => ({
    keyId: key.at("keyId").text(),
    /** Ed25519, base64. */
    publicKey: key.at("publicKey").text(),
    madeAtMs: time(key.at("madeAt")),
    /** What it signed in entries from here on is not believed; null while it is not revoked. */
    revokedFrom: key.at("revoked").maybe((revoked) => revoked.at("from").text()),
    isLost: key.at("lost").maybe(() => true) ?? false,
  })),
);
