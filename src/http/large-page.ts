/**
 * Pages of several megabytes, made once, on first use, in a worker: making them takes several times
 * their size, which would stay in this thread's heap.
 */
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { LargeText } from "./large-text.ts";

const bytes = z
  .instanceof(Uint8Array)
  .transform(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));

/** A large text as the worker sends it. */
export const madeText = z.object({
  bytes: z.object({ identity: bytes, gzip: bytes, br: bytes }),
  etag: z.string(),
}) satisfies z.ZodType<LargeText>;

/** The worker has little garbage; without a limit it would take more room. */
const ROOM = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 96 };

/** One page at a time: each takes a hundred megabytes. */
let making: Promise<unknown> = Promise.resolve();

/**
 * Returns the page; makes it on first use and again after a failure.
 * @param program the worker: it hands the page over and ends
 * @param page schema of the page
 * @param data the worker's `workerData`
 */
export const madeWhenOpened = <Page>(
  program: URL,
  page: z.ZodType<Page>,
  data?: unknown,
): (() => Promise<Page>) => {
  const make = () =>
    new Promise<Page>((resolve, reject) => {
      const worker = new Worker(program, {
        workerData: data,
        resourceLimits: ROOM,
      });
      worker.once("message", (message) => resolve(page.parse(message)));
      worker.once("error", reject);
      worker.once("exit", (code) => reject(new Error(`the page was not made: code ${code}`)));
    });
  let known: Promise<Page> | undefined;
  return () => {
    if (known === undefined) {
      known = making.then(make);
      making = known.catch(() => {
        known = undefined;
      });
    }
    return known;
  };
};
