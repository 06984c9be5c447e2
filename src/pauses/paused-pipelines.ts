/** The paused pipelines, as a process that runs pipelines knows them. */
import type { Database } from "../database/connect.ts";
import { pause } from "../waiting/backoff.ts";
import { createWaker } from "../waiting/waker.ts";

export type PausedPipelines = {
  has(pipeline: string): boolean;
  /** Reads them. @throws database errors */
  look(): Promise<void>;
  /** Resolves once this pipeline is not paused, or `signal` aborts. */
  resumed(pipeline: string, signal: AbortSignal): Promise<void>;
};

const LOOK_EVERY_MS = 2_000;

/** Follows them until `signal` aborts; while the database is away, the last known ones hold. */
export const followPauses = (
  { sql }: Pick<Database, "sql">,
  signal: AbortSignal,
): PausedPipelines => {
  const looked = createWaker();
  let paused: ReadonlySet<string> = new Set();
  const look = async () => {
    const rows = await sql<{ name: string }[]>`
      select name from pauses where kind = 'pipeline' and ended_at is null`;
    paused = new Set(rows.map(({ name }) => name));
    looked.wake();
  };
  const follow = async () => {
    while (!signal.aborted) {
      await pause(LOOK_EVERY_MS, signal);
      // The pipelines report an unavailable database.
      if (!signal.aborted) await look().catch(() => undefined);
    }
  };
  void follow();
  return {
    has: (pipeline) => paused.has(pipeline),
    look,
    resumed: async (pipeline, until) => {
      for (let mark = looked.mark(); paused.has(pipeline) && !until.aborted; mark = looked.mark()) {
        await looked.since(mark, undefined, until);
      }
    },
  };
};
