import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The validators' certificate of a checkpoint is missing or does not hold: nothing that it should prove was
 * used. A reader fetches the checkpoint again; when the same keeps coming, read it from another source, because this one
 * says what the validators did not sign.
 */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
  readonly remedy: Remedy = "retry";
  readonly sequence: bigint;
  /** What is wrong, without the checkpoint. */
  readonly what: string;

  constructor(sequence: bigint, what: string) {
    super(`checkpoint ${sequence}: ${what}`);
    this.sequence = sequence;
    this.what = what;
  }
}

/**
 * There is no committee that signatures can be verified against, or it cannot be one. Give a committee file,
 * or the digest of a checkpoint that ends an epoch.
 */
export class CommitteeError extends Error {
  override readonly name: string = "CommitteeError";
  readonly remedy: Remedy = "stop";
}

/**
 * What a source says does not lead to the committee or the checkpoint that is trusted: the source is wrong, lacks old
 * checkpoints, or the setting is wrong. A reader asks again, and the next source where several are listed;
 * `CommitteeError` when that confirms it.
 */
export class TrustNotReachedError extends CommitteeError {
  override readonly name = "TrustNotReachedError";
  override readonly remedy: Remedy = "retry";
  /** What is wrong, without the source: two sources can say the same. */
  readonly what: string;

  constructor(source: string, what: string) {
    super(`${source}: ${what}`);
    this.what = what;
  }
}
