import type { Remedy } from "../../waiting/remedy.ts";

/**
 * The log was not mended: the source lacks the checkpoint, is not of the log's chain, or is contradicted by rows that
 * are intact. Nothing was changed. Stop; the message says which.
 */
export class MendRefusedError extends Error {
  override readonly name = "MendRefusedError";
  readonly remedy: Remedy = "stop";

  constructor(why: string, options?: ErrorOptions) {
    super(`${why}; nothing was mended`, options);
  }
}
