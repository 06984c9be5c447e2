/** What is answered when the work for a request threw, by whichever way the request went. */
import type { ServerResponse } from "node:http";
import type { Logger } from "../logging/logger.ts";
import { answerOrLater, type ErrorBody, errorBody } from "./error-body.ts";
import { HttpError } from "./http-error.ts";
import { HungUpError, hasHungUp } from "./hung-up.ts";

/** The request that was worked for. */
export type Refused = {
  readonly requestId: string;
  readonly response: ServerResponse;
  readonly log: Pick<Logger, "error">;
};

export type Refusal = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: ErrorBody;
};

/** Says in the log what the caller is not told, and gives the common error body. */
export const refusalOf = (error: unknown, { requestId, response, log }: Refused): Refusal => {
  const { statusCode: status, details, headers } = answerOrLater(error, requestId);
  const expected =
    error instanceof HttpError || error instanceof HungUpError || hasHungUp({ raw: response });
  if (status >= 500 && !expected) log.error({ err: error }, "unexpected error");
  return { status, headers, body: errorBody(status, details, requestId) };
};
