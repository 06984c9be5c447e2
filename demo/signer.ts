/** Signs in a worker thread, for many checkpoints at once. */
import { Worker } from "node:worker_threads";
import type { Signed, ToSign } from "./signing-thread.ts";
import type { Sign } from "./wire/certificate.ts";

/** Disposing ends the thread. */
export type Signer = AsyncDisposable & {
  readonly sign: Sign<Promise<Uint8Array>>;
  /** Whether signing in this thread is faster now. */
  readonly isBusy: boolean;
};

/** Keeps the thread busy while this one signs, too. */
const BACKLOG = 4;

export const startSigner = (): Signer => {
  const worker = new Worker(new URL("./signing-thread.ts", import.meta.url));
  const waiting = new Map<number, PromiseWithResolvers<Uint8Array>>();
  let asked = 0;
  worker.on("message", ({ id, signature }: Signed) => {
    waiting.get(id)?.resolve(signature);
    waiting.delete(id);
  });
  worker.on("error", (error) => {
    for (const { reject } of waiting.values()) reject(error);
  });
  return {
    sign: (secret, message) => {
      const answer = Promise.withResolvers<Uint8Array>();
      asked += 1;
      waiting.set(asked, answer);
      worker.postMessage({ id: asked, secret, message } satisfies ToSign);
      return answer.promise;
    },
    get isBusy() {
      return waiting.size >= BACKLOG;
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};
