/** Errors of this API as its callers see them (specification, interface C, "Errors"). */
import type { FastifyReply, FastifyRequest } from "fastify";
import { answerOrLater, errorBody } from "../../http/error-body.ts";
import { StrictJsonError } from "../../settings/strict-json.ts";
import { InvalidRequestError } from "../requests/invalid-request.ts";
import { IdempotencyKeyReusedError } from "../requests/replays.ts";

export const answerError = (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
  if (error instanceof InvalidRequestError) {
    const { statusCode, message, code } = error;
    return reply.status(statusCode).send({
      ...errorBody(statusCode, message, request.id),
      ...(code !== undefined && { code }),
    });
  }
  const ours = statusOf(error);
  const { statusCode, details, headers } = ours ?? answerOrLater(error, request.id);
  if (statusCode >= 500) request.log.error({ err: error }, "unexpected error");
  return reply
    .status(statusCode)
    .headers(headers)
    .send(errorBody(statusCode, details, request.id));
};

const statusOf = (error: unknown) => {
  if (error instanceof StrictJsonError) return answer(400, error.message);
  if (error instanceof IdempotencyKeyReusedError) return answer(422, error.message);
  if (
    error instanceof Error &&
    "code" in error &&
    error.code === "FST_ERR_CTP_INVALID_MEDIA_TYPE"
  ) {
    return answer(415, "send the body as JSON, with the header Content-Type: application/json");
  }
  return undefined;
};

const answer = (statusCode: number, details: string) => ({ statusCode, details, headers: {} });
