/** Asks servers over HTTP from a thread of its own, as cheaply as can be. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/**
 * A request as it is sent, to a port of this machine, and how many bytes the body of its answer has; null
 * where that is not known.
 */
export type Call = {
  readonly port: number;
  readonly bytes: Uint8Array;
  readonly length: number | null;
};

/** The call that a request is, to a port of this machine; its headers are sent as they are given. */
export const callOf = (
  port: number,
  request: string,
  headers: Readonly<Record<string, string | number>>,
  body = "",
  length: number | null = null,
): Call => {
  const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return {
    port,
    bytes: Buffer.from(`${request} HTTP/1.1\r\n${lines.join("")}\r\n${body}`),
    length,
  };
};

/** What the thread is told to do. */
export type Work =
  | {
      readonly kind: "rate";
      readonly call: Call;
      readonly connections: number;
      readonly forMs: number;
    }
  | { readonly kind: "once"; readonly calls: readonly Call[] };

/** How long each request took, in the order they ended, and all together; milliseconds. */
export type Answers = { readonly millis: readonly number[]; readonly tookMs: number };

/** All but `failure` is absent when a request failed. */
type Reply = Answers | { readonly failure: string };

export type Load = AsyncDisposable & {
  /**
   * Asks the same thing for this long over so many connections, one request at a time on each.
   * @throws when an answer has another status than 200 or another length than expected
   */
  rate(
    call: Call,
    over: { readonly connections: number; readonly forMs: number },
  ): Promise<Answers>;
  /** Makes each call once, one after the other. @throws as `rate` does */
  once(calls: readonly Call[]): Promise<readonly number[]>;
};

export const startLoad = (): Load => {
  const worker = new Worker(new URL("./load-worker.ts", import.meta.url));
  const ask = async (work: Work): Promise<Answers> => {
    const answered: Promise<Reply[]> = once(worker, "message");
    worker.postMessage(work);
    const [reply] = await answered;
    if (reply === undefined || "failure" in reply) {
      throw new Error(`a request failed: ${reply?.failure ?? "without a reason"}`);
    }
    return reply;
  };
  return {
    rate: (call, over) => ask({ kind: "rate", call, ...over }),
    once: async (calls) => (await ask({ kind: "once", calls })).millis,
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};
