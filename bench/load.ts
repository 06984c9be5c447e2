/** Asks servers over HTTP from a separate thread, as cheaply as possible. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A raw request to a local port, and the body length of its answer; null if unknown. */
export type Call = {
  readonly port: number;
  readonly bytes: Uint8Array;
  readonly length: number | null;
};

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

export type Work =
  | {
      readonly kind: "rate";
      readonly call: Call;
      readonly connections: number;
      readonly forMs: number;
    }
  | { readonly kind: "once"; readonly calls: readonly Call[] };

/** Duration of each request in order of completion, and of all; ms. */
export type Answers = { readonly millis: readonly number[]; readonly tookMs: number };

/** All but `failure` is absent if a request failed. */
type Reply = Answers | { readonly failure: string };

export type Load = AsyncDisposable & {
  /**
   * Repeats a call for this long over so many connections, one request at a time on each.
   * @throws for a status other than 200 or an unexpected length
   */
  rate(
    call: Call,
    over: { readonly connections: number; readonly forMs: number },
  ): Promise<Answers>;
  /** Each call once, in sequence. @throws as `rate` does */
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
