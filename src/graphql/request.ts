/** What a GraphQL request brings, and what it gets. */
import type { Logger } from "../logging/logger.ts";

/** What a request brings besides its body. */
export type RequestScope = {
  readonly requestId: string;
  readonly log: Pick<Logger, "error">;
  /** Id of the caller's key. */
  readonly key?: string | undefined;
  /** Aborts when the caller hangs up. */
  readonly signal?: AbortSignal | undefined;
};

/** An answer, ready to be sent. */
export type GraphAnswer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};
