/** What a GraphQL request brings besides its body, and its answer. */
import type { Logger } from "../logging/logger.ts";

export type RequestScope = {
  readonly requestId: string;
  readonly log: Pick<Logger, "error">;
  /** Id of the caller's key. */
  readonly key?: string | undefined;
  /** Whether that key sees labels. */
  readonly seesLabels?: boolean | undefined;
  /** Whether it is an operator's: beside labels it sees the transfer agent's names of holders. */
  readonly isOperator?: boolean | undefined;
  /** The answer shows at least this checkpoint, of all pipelines. */
  readonly minCheckpoint?: bigint | undefined;
  /** Aborts when the caller hangs up. */
  readonly signal?: AbortSignal | undefined;
};

export type GraphAnswer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};
