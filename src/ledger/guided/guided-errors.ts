import type { Remedy } from "../../waiting/remedy.ts";
import { SourceError } from "../sources/source-errors.ts";

/** The node's lists end before the range. They grow. Retried. */
export class ListsBehindError extends Error {
  override readonly name = "ListsBehindError";
  readonly remedy: Remedy = "retry";

  constructor(node: string, upTo: bigint, last: bigint) {
    super(`${node}: its lists reach checkpoint ${upTo}, not yet ${last}`);
  }
}

/** The source has not reached a checkpoint that the lists name. It grows; wait. */
export class SourceBehindError extends SourceError {
  override readonly name = "SourceBehindError";
  override readonly remedy: Remedy = "wait";

  constructor(source: string, upTo: bigint, needed: bigint) {
    super(
      `${source} reaches checkpoint ${upTo}: waiting until it has ${needed}, which the lists name`,
    );
  }
}

/** The node knows no such package. Stop; the address or the network is wrong. */
export class PackageUnknownError extends Error {
  override readonly name = "PackageUnknownError";
  readonly remedy: Remedy = "stop";

  constructor(node: string, address: string) {
    super(
      `${node} knows no package ${address}: check SECURITY_TOKEN_PACKAGES, and that the node is of the right network`,
    );
  }
}

/** The log was begun by reading every checkpoint. Stop; guided reading needs an empty database. */
export class LogNotGuidedError extends Error {
  override readonly name = "LogNotGuidedError";
  readonly remedy: Remedy = "stop";

  constructor() {
    super(
      "the log was begun by reading every checkpoint, and cannot go on guided: read it without --guided and with READING=full, or begin with an empty database",
    );
  }
}

/** Staged checkpoints do not end with the range: something else wrote to the staging. Retried. */
export class StagingIncompleteError extends Error {
  override readonly name = "StagingIncompleteError";
  readonly remedy: Remedy = "retry";

  constructor(last: bigint) {
    super(
      `the staged checkpoints (log_found) do not end with checkpoint ${last}; finding them again`,
    );
  }
}
