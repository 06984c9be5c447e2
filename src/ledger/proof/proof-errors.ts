import type { Remedy } from "../../waiting/remedy.ts";

/**
 * A checkpoint's certificate is missing or invalid; nothing was used. A reader fetches the
 * checkpoint again; if that does not help, use another source.
 */
export class CertificateError extends Error {
  override readonly name = "CertificateError";
  readonly remedy: Remedy = "retry";
  readonly sequence: bigint;
  /** The fault, without the checkpoint. */
  readonly what: string;

  constructor(sequence: bigint, what: string) {
    super(`checkpoint ${sequence}: ${what}`);
    this.sequence = sequence;
    this.what = what;
  }
}

/**
 * There is no valid committee. Provide a committee file, or the digest of a checkpoint that ends an
 * epoch.
 */
export class CommitteeError extends Error {
  override readonly name: string = "CommitteeError";
  readonly remedy: Remedy = "stop";
}

/**
 * The source does not lead to the trusted committee or checkpoint: it is wrong or lacks old
 * checkpoints, or the setting is wrong. A reader retries, also with the next source; then
 * `CommitteeError`.
 */
export class TrustNotReachedError extends CommitteeError {
  override readonly name = "TrustNotReachedError";
  override readonly remedy: Remedy = "retry";
  /** The fault without the source, so that sources can be compared. */
  readonly what: string;

  constructor(source: string, what: string) {
    super(`${source}: ${what}`);
    this.what = what;
  }
}
