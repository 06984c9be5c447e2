/** Prints a PDF in a thread of its own: pages of a long table take seconds without a pause. */
import { Worker } from "node:worker_threads";
import type { Paper } from "./document.ts";
import type { Furniture } from "./pdf-pages.ts";

export type PrintOrder = {
  /** File to write. */
  readonly path: string;
  readonly papers: readonly Paper[];
  readonly furniture: Furniture;
};

/** A PDF is held in memory until its pages are counted. */
const ROOM = { maxOldGenerationSizeMb: 512 };

/** @throws the signal's reason once it aborts; the failure of the thread, and nothing of the file counts */
export const printPdf = async (order: PrintOrder, signal: AbortSignal): Promise<void> => {
  signal.throwIfAborted();
  const thread = new Worker(new URL("./pdf-thread.ts", import.meta.url), {
    workerData: order,
    resourceLimits: ROOM,
  });
  const stop = () => void thread.terminate();
  signal.addEventListener("abort", stop);
  try {
    await new Promise<void>((resolve, reject) => {
      thread.once("error", reject);
      thread.once("exit", (code) => {
        // A thread that is stopped before it begins has the code 0, too.
        if (signal.aborted) reject(signal.reason);
        else if (code === 0) resolve();
        else reject(new Error(`the printing thread ended with code ${code}`));
      });
    });
  } finally {
    signal.removeEventListener("abort", stop);
  }
};
