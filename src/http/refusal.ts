/** Turns an error thrown during a request into an answer. */
import type { ServerResponse } from "node:http";
import type { Logger } from "../logging/logger.ts";
import { answerOrLater, errorBody } from "./error-body.ts";
import { HttpError } from "./http-error.ts";
import { HungUpError, hasHungUp } from "./hung-up.ts";

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

/** Turns an error into an answer, and logs what the answer hides. */
export type RefusalOf = (error: unknown, refused: Refused) => Refusal;

/** @param bodyOf form of an interface's errors; the common error body by default */
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
