/** Subscriptions as their clients have them, by the npm package graphql-sse. */
import { createClient, type ExecutionResult } from "graphql-sse";
import { tokenActivityWatermark } from "../../src/projections/token-activity.ts";
import type { TestDatabase } from "../postgres.ts";
import type { Api } from "./api.ts";
import { activity, addActivity, setHighWater, setWatermark } from "./rows.ts";

/** What was received, and a way to wait for it. */
export type Received = Disposable & {
  readonly results: ExecutionResult<Record<string, unknown>, unknown>[];
  /** Ends the subscription. */
  stop(): void;
  /** Waits until so many results are there. */
  atLeast(count: number): Promise<void>;
  /** Resolves when the server says that nothing more will come, rejects when the client gives up. */
  readonly over: Promise<void>;
};

const DEADLINE_MS = 50_000;

/** Waits until something is so. */
export const until = async (what: string, isSo: () => boolean | Promise<boolean>) => {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await isSo())) {
    if (performance.now() > deadline) throw new Error(`not within ${DEADLINE_MS} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
};

/** Subscribes; `variables` are sent again, as they are then, whenever the client connects anew. */
export const subscribe = (
  api: Pick<Api, "url" | "key">,
  query: string,
  variables: Record<string, unknown> = {},
  options: {
    readonly retries?: number;
    readonly key?: string;
    readonly onResult?: (result: ExecutionResult<Record<string, unknown>, unknown>) => void;
  } = {},
): Received => {
  const client = createClient({
    url: () => `${api.url}/graphql`,
    headers: { "x-api-key": options.key ?? api.key },
    retryAttempts: options.retries ?? 0,
    retry: () => new Promise((resolve) => setTimeout(resolve, 50)),
  });
  const results: Received["results"] = [];
  const over = Promise.withResolvers<void>();
  over.promise.catch(() => undefined);
  const stop = client.subscribe<Record<string, unknown>>(
    { query, variables },
    {
      next: (result) => {
        results.push(result);
        options.onResult?.(result);
      },
      error: (error) => over.reject(error),
      complete: () => over.resolve(),
    },
  );
  return {
    results,
    stop,
    atLeast: (count) => until(`${count} results`, () => results.length >= count),
    over: over.promise,
    [Symbol.dispose]: () => {
      stop();
      client.dispose();
    },
  };
};

export const ACTIVITY = `subscription ($coin: String!, $after: String) {
  tokenActivity(coinType: $coin, after: $after) { position amount decimals toAddress checkpoint }
}`;

/** A member of the first field of each result. */
export const members = (
  { results }: Pick<Received, "results">,
  field: string,
  member: string,
): unknown[] =>
  results.flatMap(({ data }) => {
    const event = data?.[field];
    return typeof event === "object" && event !== null && member in event
      ? [Object.entries(event).find(([name]) => name === member)?.[1]]
      : [];
  });

/** Commits a checkpoint with some movements, as the log and the pipeline do. */
export const commit = async (
  database: TestDatabase,
  checkpoint: bigint,
  movements: number,
  coinType?: string,
): Promise<void> => {
  await addActivity(
    database,
    Array.from({ length: movements }, (_, index) =>
      activity(checkpoint, { index, ...(coinType !== undefined && { coinType }) }),
    ),
  );
  await setWatermark(database, tokenActivityWatermark, checkpoint);
  await setHighWater(database, checkpoint);
};
