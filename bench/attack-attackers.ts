/** The attackers, in a separate thread so that they do not delay the probes. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";
import type { Attack, Statuses } from "./attack-attacks.ts";

export type Target = { readonly port: number; readonly key: string };

export type Order = { readonly attack: Attack; readonly target: Target };

export type Attackers = AsyncDisposable & {
  run(attack: Attack, target: Target): Promise<Statuses>;
};

export const startAttackers = (): Attackers => {
  const worker = new Worker(new URL("./attack-attackers-worker.ts", import.meta.url));
  return {
    run: async (attack, target) => {
      const left: Promise<Statuses[]> = once(worker, "message");
      const order: Order = { attack, target };
      worker.postMessage(order);
      const [statuses] = await left;
      return statuses ?? {};
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};
