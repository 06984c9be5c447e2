/** Callers that are gone before their answer was: what is still done for them is done for nobody. */
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Remedy } from "../waiting/remedy.ts";

/** The caller hung up: nobody waits for what was being done. Stop, and log nothing more of it. */
export class HungUpError extends Error {
  override readonly name = "HungUpError";
  readonly remedy: Remedy = "stop";

  constructor() {
    // Whoever hangs up again and again must not have us find out each time where we were.
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
 * answer is out. The same signal however often it is asked for; requests that nobody asks for have none.
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
