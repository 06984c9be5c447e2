/** The pages a subscription reads for itself count as the queries for them would, and wait instead of failing. */
import type { Admission } from "../http/edge/admission.ts";
import type { Gate } from "../http/edge/gate.ts";
import { HttpError } from "../http/http-error.ts";
import { retryAfterMs } from "../waiting/retry-after.ts";
import { retrying } from "../waiting/retrying.ts";
import type { ReadSubscription } from "./engine.ts";
import type { Pace } from "./follow.ts";

export type Paced<Key> = {
  readonly key: Key;
  readonly gate: Pick<Gate<Key>, "count">;
  readonly admission: Admission;
  readonly subscription: Pick<ReadSubscription, "requestsFor" | "pageWeight">;
  /** Aborts when it is over. */
  readonly signal: AbortSignal;
};

export const pacedBy = <Key extends { readonly id: string }>(paced: Paced<Key>): Pace => {
  const { key, gate, admission, subscription, signal } = paced;
  /** Requests that the last page counted for and that are not counted yet. */
  let owed = 0;

  const whenThereIsRoom = <Value>(attempt: () => Promise<Value>) =>
    retrying(
      attempt,
      {
        backoff: { firstMs: 250, maxMs: 5_000 },
        remedy: (error) => (isForLater(error) ? "retry" : "stop"),
        leastMs: (error) =>
          error instanceof HttpError ? (retryAfterMs(error.headers["retry-after"]) ?? 0) : 0,
      },
      signal,
    );

  return async (read) => {
    await whenThereIsRoom(async () => {
      if (owed > 0) gate.count(key, owed);
      owed = 0;
    });
    const place = await whenThereIsRoom(async () =>
      admission.enter(key.id, subscription.pageWeight, signal),
    );
    // It is over.
    if (place === undefined) throw signal.reason;
    try {
      const events = await read();
      owed = subscription.requestsFor(events.length);
      return events;
    } finally {
      place.made();
      place.left();
    }
  };
};

const isForLater = (error: unknown): boolean =>
  error instanceof HttpError && (error.statusCode === 429 || error.statusCode === 503);
