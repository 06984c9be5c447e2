import type { Remedy } from "../waiting/remedy.ts";

const USE_ANOTHER =
  "point LEDGER_SOURCE at the first, or use another database (DATABASE_URL or DATA_DIR) for the second";

/**
 * The database holds another chain than the source (a wiped testnet, or a wrong setting). Stop; use
 * the right source or another database.
 */
export class ChainMismatchError extends Error {
  override readonly name = "ChainMismatchError";
  readonly remedy: Remedy = "stop";

  constructor(what: string, stored: string, given: string, todo = USE_ANOTHER) {
    super(`${what} is of chain ${stored}, but the source reads chain ${given}; ${todo}`);
  }
}

/** The log is of another contract. Stop; restore the setting, or index into an empty database. */
export class PackagesChangedError extends Error {
  override readonly name = "PackagesChangedError";
  readonly remedy: Remedy = "stop";

  constructor(stored: readonly string[], given: readonly string[]) {
    super(
      `the log holds facts of the packages ${stored.join(", ")}, but SECURITY_TOKEN_PACKAGES says ${given.join(", ")}; restore the setting, or index from the first checkpoint into an empty database`,
    );
  }
}

/**
 * Settings name packages unknown to the log, whose facts would be missing from checkpoints already
 * read. Stop; remove them (upgrades join by themselves), or read them in.
 */
export class UnmetPackagesError extends Error {
  override readonly name = "UnmetPackagesError";
  readonly remedy: Remedy = "stop";

  constructor(known: readonly string[], unmet: readonly string[]) {
    super(
      `SECURITY_TOKEN_PACKAGES names ${unmet.join(", ")}, but the log has met only ${known.join(", ")}; leave out an upgrade that is not published yet: it joins automatically; add one whose publication the log has passed with \`holderbook packages add ${unmet[0]}\``,
    );
  }
}

/** Another reader appended meanwhile; nothing was written. Stop and alert. */
export class HighWaterMovedError extends Error {
  override readonly name = "HighWaterMovedError";
  readonly remedy: Remedy = "stop";

  constructor(expected: bigint) {
    super(
      `the log's high-water mark is no longer at checkpoint ${expected}; another process appends to it`,
    );
  }
}

/** A batch is inconsistent; nothing was written. A bug: stop. */
export class InvalidBatchError extends Error {
  override readonly name = "InvalidBatchError";
  readonly remedy: Remedy = "stop";

  constructor(first: bigint, last: bigint, what: string) {
    super(`batch of checkpoints ${first} to ${last}: ${what}`);
  }
}

/** Nothing was indexed yet. Wait until a reader has opened the log. */
export class LogNotOpenedError extends Error {
  override readonly name = "LogNotOpenedError";
  readonly remedy: Remedy = "wait";

  constructor() {
    super(
      "the log is empty, and its chain is not known yet; start `holderbook index` or `holderbook start`",
    );
  }
}
