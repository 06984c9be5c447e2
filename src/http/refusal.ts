/** What is answered when the work for a request threw. */
import type { ServerResponse } from "node:http";
import type { Logger } from "../logging/logger.ts";
import { answerOrLater, errorBody } from "./error-body.ts";
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
  readonly body: object;
};

/** Turns what was thrown into an answer, and logs what the caller is not told. */
export type RefusalOf = (error: unknown, refused: Refused) => Refusal;

/** @param bodyOf the form of an interface's errors; the common error body unless given */
export const refusalOf = (
  error: unknown,
  { requestId, response, log }: Refused,
  bodyOf: (status: number, details: string, requestId: string) => object = errorBody,
): Refusal => {
  const { statusCode: status, details, headers } = answerOrLater(error, requestId);
  const expected =
    error instanceof HttpError || error instanceof HungUpError || hasHungUp({ raw: response });
  if (status >= 500 && !expected) log.error({ err: error }, "unexpected error");
  return { status, headers, body: bodyOf(status, details, requestId) };
};
