/** What `/health` of a process says, asked all the time and held against what Postgres itself shows. */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

const ASK_EVERY_MS = 500;
/** Two seconds are promised; a machine with other work takes longer. */
const PATIENCE_MS = 8_000;

const health = z.object({
  status: z.string(),
  reason: z.string().optional(),
  ageSeconds: z.number().optional(),
  notes: z.array(z.object({ reason: z.string() })).default([]),
  reader: z.object({ state: z.string(), reason: z.string().optional() }),
  details: z.record(z.string(), z.unknown()).default({}),
});

/** An answer, or why there was none. */
export type Seen = {
  readonly atMs: number;
  readonly status: string;
  /** All of the answer, or the error. */
  readonly text: string;
  /** The answer is of the state now. */
  readonly isFresh: boolean;
};

export type HealthWatch = AsyncDisposable & {
  /** Where it answers. */
  readonly url: string;
  last(): Seen;
  /** `ok` told while the register stood still for too long. */
  readonly untrue: readonly string[];
};

/** @param isTrue whether `ok` is true now; otherwise why not */
export const watchHealth = (url: string, why: () => string | undefined): HealthWatch => {
  const untrue: string[] = [];
  let last: Seen = { atMs: performance.now(), status: "none", text: "", isFresh: false };
  let isOver = false;
  const ask = async (): Promise<Seen> => {
    // Decided before the question: what goes wrong meanwhile may be told or not.
    const wrong = why();
    const response = await fetch(`${url}/health`, {
      headers: { connection: "close" },
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const parsed = health.safeParse(JSON.parse(text));
    const atMs = performance.now();
    if (!parsed.success) return { atMs, status: `${response.status}`, text, isFresh: false };
    const { status, ageSeconds } = parsed.data;
    if (status === "ok" && wrong !== undefined)
      untrue.push(`${url} was ok although ${wrong}: ${text}`);
    return { atMs, status, text, isFresh: ageSeconds === undefined };
  };
  const asking = (async () => {
    while (!isOver) {
      last = await ask().catch((error: unknown) => ({
        atMs: performance.now(),
        status: "none",
        text: String(error),
        isFresh: false,
      }));
      await delay(ASK_EVERY_MS);
    }
  })();
  return {
    url,
    last: () => last,
    untrue,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await asking;
    },
  };
};
