/** Callers that are gone before their answer: work for them is in vain. */
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Remedy } from "../waiting/remedy.ts";

/** The caller hung up: the work is not needed. Stop, and log nothing more of it. */
export class HungUpError extends Error {
  override readonly name = "HungUpError";
  readonly remedy: Remedy = "stop";

  constructor() {
    // A caller who hangs up again and again must not make us build a stack each time.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("the caller hung up");
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether the connection of this answer was gone before the answer was. */
export const hasHungUp = ({ raw }: Pick<FastifyReply, "raw">): boolean =>
  (raw.closed || raw.destroyed) && !raw.writableFinished;

const signals = new WeakMap<ServerResponse, AbortSignal>();

/**
 * Aborts when the caller of this request hangs up, with a HungUpError as its reason; never once the
 * answer is out. The same signal at every call; it is made at the first.
 */
export const hangUpSignal = (reply: Pick<FastifyReply, "raw">): AbortSignal => {
  const { raw } = reply;
  const known = signals.get(raw);
  if (known !== undefined) return known;
  const hungUp = new AbortController();
  if (hasHungUp(reply)) hungUp.abort(new HungUpError());
  else raw.once("close", () => hasHungUp(reply) && hungUp.abort(new HungUpError()));
  signals.set(raw, hungUp.signal);
  return hungUp.signal;
};
