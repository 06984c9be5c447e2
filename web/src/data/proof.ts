/** What the service publishes for others to check: proofs of checkpoints, roots, log heads, its keys. */
import { type Reader, reading } from "./read.ts";

export type Validator = {
  /** Its place in the committee, from 0. */
  readonly index: number;
  /** Base64. */
  readonly publicKey: string;
  /** Votes. */
  readonly stake: bigint;
  readonly signed: boolean;
};

export type Committee = {
  readonly epoch: string;
  /** The checkpoint that names it; null for the one that the operator trusted. */
  readonly namedBy: string | null;
  readonly members: readonly Validator[];
};

export type Certificate = {
  readonly epoch: string;
  /** BLS, base64. */
  readonly signature: string;
  readonly signers: number;
  readonly signedStake: bigint;
  readonly totalStake: bigint;
  /** Votes that certify. */
  readonly threshold: bigint;
};

export type CheckpointProof = {
  readonly checkpoint: string;
  /** Base58, as all digests of the ledger. */
  readonly digest: string;
  readonly timestampMs: number;
  readonly epoch: string | null;
  readonly previousDigest: string | null;
  readonly contentDigest: string | null;
  /** signatures, links or none. */
  readonly verification: string;
  /** The same in words. */
  readonly how: string;
  readonly signedCheckpoint: {
    readonly checkpoint: string;
    readonly digest: string;
    /** Checkpoints that lead from the one asked for to it; 0: the same. */
    readonly links: number;
  } | null;
  /** Of the signed checkpoint: its BCS, base64. */
  readonly summaryBcs: string | null;
  readonly certificate: Certificate | null;
  readonly committee: Committee | null;
  /** Hex; null while it is not known. */
  readonly pipelineDigests: readonly {
    readonly pipeline: string;
    readonly digest: string | null;
  }[];
};

/** A signed root of a token's cap table. */
export type PublishedRoot = {
  readonly coinType: string;
  readonly checkpoint: string;
  readonly root: string;
  readonly total: bigint;
  readonly keyId: string;
  readonly signature: string;
  readonly signedAtMs: number;
};

/** A signed head of the log's hash chain. */
export type LogHead = {
  readonly checkpoint: string;
  readonly hash: string;
  readonly keyId: string;
  readonly signature: string;
  readonly signedAtMs: number;
};

export type DeploymentKey = {
  readonly keyId: string;
  /** Ed25519, base64. */
  readonly publicKey: string;
  readonly madeAtMs: number;
};

const text = (value: Reader): string => value.text();
const time = (value: Reader): number => Date.parse(value.text());

/** For `usePath`: each reads the answer of the path it is named for. */
export const readProof = reading(
  "proof",
  (it): CheckpointProof => ({
    checkpoint: it.at("checkpoint").text(),
    digest: it.at("digest").text(),
    timestampMs: time(it.at("timestamp")),
    epoch: it.at("epoch").maybe(text),
    previousDigest: it.at("previousDigest").maybe(text),
    contentDigest: it.at("contentDigest").maybe(text),
    verification: it.at("verification").text(),
    how: it.at("how").text(),
    signedCheckpoint: it.at("signedCheckpoint").maybe((signed) => ({
      checkpoint: signed.at("checkpoint").text(),
      digest: signed.at("digest").text(),
      links: signed.at("links").number(),
    })),
    summaryBcs: it.at("summaryBcs").maybe(text),
    certificate: it.at("certificate").maybe((certificate) => ({
      epoch: certificate.at("epoch").text(),
      signature: certificate.at("signature").text(),
      signers: certificate.at("signers").list(() => null).length,
      signedStake: certificate.at("signedStake").amount(),
      totalStake: certificate.at("totalStake").amount(),
      threshold: certificate.at("threshold").amount(),
    })),
    committee: it.at("committee").maybe((committee) => ({
      epoch: committee.at("epoch").text(),
      namedBy: committee.at("namedBy").maybe(text),
      members: committee.at("members").list((member) => ({
        index: member.at("index").number(),
        publicKey: member.at("publicKey").text(),
        stake: member.at("stake").amount(),
        signed: member.at("signed").flag(),
      })),
    })),
    pipelineDigests: it.at("pipelineDigests").list((one) => ({
      pipeline: one.at("pipeline").text(),
      digest: one.at("digest").maybe(text),
    })),
  }),
);

export const readRoots = reading("roots", (it) =>
  it.at("roots").list(
    (root): PublishedRoot => ({
      coinType: root.at("coinType").text(),
      checkpoint: root.at("checkpoint").text(),
      root: root.at("root").text(),
      total: root.at("total").amount(),
      keyId: root.at("keyId").text(),
      signature: root.at("signature").text(),
      signedAtMs: time(root.at("signedAt")),
    }),
  ),
);

export const readLogHeads = reading("log heads", (it) =>
  it.at("heads").list(
    (head): LogHead => ({
      checkpoint: head.at("checkpoint").text(),
      hash: head.at("hash").text(),
      keyId: head.at("keyId").text(),
      signature: head.at("signature").text(),
      signedAtMs: time(head.at("signedAt")),
    }),
  ),
);

export const readDeploymentKeys = reading("deployment keys", (it) =>
  it.at("keys").list(
    (key): DeploymentKey => ({
      keyId: key.at("keyId").text(),
      publicKey: key.at("publicKey").text(),
      madeAtMs: time(key.at("madeAt")),
    }),
  ),
);
