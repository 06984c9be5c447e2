/** Whether anybody still waits for an answer. */
import type { FastifyReply } from "fastify";

/** Aborts when the caller hangs up before the whole answer was taken; made when first asked for. */
export const hangUpSignal = ({ raw }: Pick<FastifyReply, "raw">): AbortSignal => {
  const controller = new AbortController();
  raw.once("close", () => {
    if (!raw.writableFinished) controller.abort(new Error("the caller hung up"));
  });
  return controller.signal;
};
