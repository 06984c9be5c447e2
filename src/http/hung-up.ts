/** Stops work for callers who hung up. */
import type { ServerResponse } from "node:http";
import type { FastifyReply } from "fastify";
import type { Remedy } from "../waiting/remedy.ts";

/** The caller hung up: the work is not needed. Stop, and do not log it. */
export class HungUpError extends Error {
  override readonly name = "HungUpError";
  readonly remedy: Remedy = "stop";

  constructor() {
    // Without a stack: repeated hang-ups must stay cheap.
    const { stackTraceLimit } = Error;
    Error.stackTraceLimit = 0;
    super("the caller hung up");
    Error.stackTraceLimit = stackTraceLimit;
  }
}

/** Whether the connection closed before the answer was complete. */
export const hasHungUp = ({ raw }: Pick<FastifyReply, "raw">): boolean =>
  (raw.closed || raw.destroyed) && !raw.writableFinished;

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborts with a HungUpError when this request's caller hangs up before the answer is complete. */
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
