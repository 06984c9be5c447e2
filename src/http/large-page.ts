/**
 * Pages of several megabytes, made when they are first opened, and once: in a thread of its own that
 * ends with it, because their text is several times as large while it is made, and would stay in the
 * memory of this one.
 */
import { Worker } from "node:worker_threads";
import { z } from "zod";
import type { LargeText } from "./large-text.ts";

const bytes = z
  .instanceof(Uint8Array)
  .transform(({ buffer, byteOffset, byteLength }) => Buffer.from(buffer, byteOffset, byteLength));

/** A large text, as it arrives from the thread that made it. */
export const madeText = z.object({
  bytes: z.object({ identity: bytes, gzip: bytes, br: bytes }),
  etag: z.string(),
}) satisfies z.ZodType<LargeText>;

/** The thread's own garbage is little; room for more of it would be taken nevertheless. */
const ROOM = { maxYoungGenerationSizeMb: 6, maxOldGenerationSizeMb: 96 };

/** Ends with the page that is made last. One is made at a time, as each takes a hundred megabytes. */
let making: Promise<unknown> = Promise.resolve();

/**
 * Returns the page; makes it on first use and again after a failure.
 * @param program of the thread: it hands the page over, and then ends
 * @param page what it hands over
 * @param data what the thread is told, as its `workerData`
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
