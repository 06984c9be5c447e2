/** The probes: callers that ask during an attack. A thread of their own, which does little. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

export type ProbeKind = "health" | "query";

/** One request of a probe. */
export type Probed = {
  readonly kind: ProbeKind;
  /** When it should have been sent, milliseconds since the Unix epoch. */
  readonly sentMs: number;
  /** From then to the last byte of the answer. */
  readonly tookMs: number;
  /** Of the answer; `none` when there was none, `errors` when it is GraphQL's answer with errors. */
  readonly status: string;
};

/** Where the probes go, the key they have, and the body they ask GraphQL with. */
export type ProbeSettings = {
  readonly port: number;
  readonly key: string;
  readonly body: string;
};

export type Probes = AsyncDisposable & {
  /** All that were sent since it was last called; waits for those under way. */
  take(): Promise<readonly Probed[]>;
};

/** One of each kind is sent every 50 ms from now on, on a new connection and on a kept one in turn. */
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
