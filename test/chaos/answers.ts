/**
 * What readers are told while faults strike: each pipeline's checkpoint with its digest, over GraphQL. An answer may
 * be missing; none may be wrong.
 */
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";

const ASK_EVERY_MS = 400;
const PATIENCE_MS = 10_000;
/** While Postgres is away, or the process starts. */
const UNAVAILABLE = 503;
/** A statement may last longer than it may on a machine that does all this. */
const TOOK_TOO_LONG = /the query took too long/;

const QUERY = "{ indexerStatus { pipeline checkpoint digest } }";

const answer = z.object({
  data: z.object({
    indexerStatus: z.array(
      z.object({
        pipeline: z.string(),
        checkpoint: z.string().nullable(),
        digest: z.string().nullable(),
      }),
    ),
  }),
});

/** A pipeline at a checkpoint. */
export type Told = {
  readonly pipeline: string;
  readonly checkpoint: bigint;
  readonly digest: string | null;
};

export type Answers = AsyncDisposable & {
  /** Each pipeline at each checkpoint that was told, once. */
  told(): readonly Told[];
  /** How many answers there were. */
  count(): number;
  /** Answers that must not be. */
  readonly wrong: readonly string[];
};

/** @param key of a reader */
export const watchAnswers = (urls: readonly string[], key: string): Answers => {
  const told = new Map<string, Told>();
  const wrong: string[] = [];
  let isOver = false;
  let count = 0;

  const note = (url: string, entry: Told) => {
    const at = `${entry.pipeline} ${entry.checkpoint}`;
    const before = told.get(at);
    if (before !== undefined && before.digest !== entry.digest) {
      wrong.push(`${url}: ${at} is ${entry.digest}, and was ${before.digest}`);
    }
    told.set(at, entry);
  };
  const ask = async (url: string) => {
    const response = await fetch(`${url}/graphql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": key, connection: "close" },
      body: JSON.stringify({ query: QUERY }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    if (response.status === UNAVAILABLE || TOOK_TOO_LONG.test(text)) return;
    const parsed = answer.safeParse(JSON.parse(text));
    if (!parsed.success) {
      wrong.push(`${url}: ${response.status} ${text.slice(0, 500)}`);
      return;
    }
    count += 1;
    for (const { pipeline, checkpoint, digest } of parsed.data.data.indexerStatus) {
      // None is told while a token is in quarantine, and then that of an undisturbed run.
      if (checkpoint !== null && digest !== null)
        note(url, { pipeline, checkpoint: BigInt(checkpoint), digest });
    }
  };
  const asking = urls.map(async (url) => {
    while (!isOver) {
      // A process that is killed answers nothing.
      await ask(url).catch(() => undefined);
      await delay(ASK_EVERY_MS);
    }
  });
  return {
    told: () => [...told.values()],
    count: () => count,
    wrong,
    [Symbol.asyncDispose]: async () => {
      isOver = true;
      await Promise.all(asking);
    },
  };
};
