/** Callers that ask during an attack, in a mostly idle thread. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export type ProbeKind = "health" | "query";

export type Probed = {
  readonly kind: ProbeKind;
  /** When it was due, Unix ms. */
  readonly sentMs: number;
  /** From then to the last byte of the answer. */
  readonly tookMs: number;
  /** HTTP status; `none` without an answer, `errors` for GraphQL errors. */
  readonly status: string;
};

type ProbeSettings = {
  readonly port: number;
  readonly key: string;
  readonly body: string;
};

export type Probes = AsyncDisposable & {
  /** All sent since the last call; waits for pending ones. */
  take(): Promise<readonly Probed[]>;
};

/** Sends one of each kind every 50 ms, alternating new and kept connections. */
export const startProbes = (settings: ProbeSettings): Probes => {
  const worker = new Worker(new URL("./attack-probes-worker.ts", import.meta.url), {
    workerData: settings,
  });
  return {
    take: async () => {
      const taken: Promise<(readonly Probed[])[]> = once(worker, "message");
      worker.postMessage("take");
      const [probed] = await taken;
      return probed ?? [];
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};
