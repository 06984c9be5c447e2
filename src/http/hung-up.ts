/** Stops work for callers who hung up. */
import type { ServerResponse } from "node:http";
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
export const hasHungUp = ({ closed, destroyed, writableFinished }: ServerResponse): boolean =>
  (closed || destroyed) && !writableFinished;

const signals = new WeakMap<ServerResponse, AbortSignal>();

/** Aborts with a HungUpError when this request's caller hangs up before the answer is complete. */
export const hangUpSignal = (response: ServerResponse): AbortSignal => {
  const known = signals.get(response);
  if (known !== undefined) return known;
  const hungUp = new AbortController();
  if (hasHungUp(response)) hungUp.abort(new HungUpError());
  else response.once("close", () => hasHungUp(response) && hungUp.abort(new HungUpError()));
  signals.set(response, hungUp.signal);
  return hungUp.signal;
};
