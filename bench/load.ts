/** Asks servers over HTTP from a separate thread, as cheaply as possible. */
import { once } from "node:events";
import { Worker } from "node:worker_threads";

/** A raw request to a local port. */
export type Call = {
  readonly port: number;
  readonly bytes: Uint8Array;
  /** The only expected status. */
  readonly status: number;
  /** Length of the expected body; null if unknown. */
  readonly length: number | null;
};

export const callOf = (
  port: number,
  request: string,
  headers: Readonly<Record<string, string | number>>,
  { body = "", status = 200, length = null as number | null } = {},
): Call => {
  const all = {
    host: `127.0.0.1:${port}`,
    ...headers,
    ...(body !== "" && { "content-length": Buffer.byteLength(body) }),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const bytes = Buffer.from(`${request} HTTP/1.1\r\n${lines.join("")}\r\n${body}`);
  return { port, bytes, status, length };
};

export type Work = {
  readonly calls: readonly Call[];
  /** One request at a time on each. */
  readonly connections: number;
  /** The calls are repeated for this long; null: each once. */
  readonly forMs: number | null;
};

export type Answers = {
  /** Duration of each request in order of completion. */
  readonly millis: readonly number[];
  readonly perSecond: number;
};

export type Load = AsyncDisposable & {
  /** @throws for another status, another length or GraphQL errors */
  ask(work: Work): Promise<Answers>;
};

export const startLoad = (): Load => {
  const worker = new Worker(new URL("./load-worker.ts", import.meta.url));
  return {
    ask: async (work) => {
      const answered: Promise<Answers[]> = once(worker, "message");
      worker.postMessage(work);
      const [answers] = await answered;
      if (answers === undefined) throw new Error("the load thread answered nothing");
      return answers;
    },
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};

/**
 * The same request to servers with few and with many rows. `at`: from 0 to below 1, a place among the rows,
 * different in every request.
 */
export type Pair = { readonly few: (at: number) => Call; readonly many: (at: number) => Call };

/** Ms of each request in order. */
export type Times = { readonly few: readonly number[]; readonly many: readonly number[] };

/**
 * Sends `requests` of each kind in each of `rounds`, one at a time, so that none queues; to few and to many in turn,
 * so that other load affects both. One round before them warms up.
 * @returns by kind
 */
export const askPairs = async (
  load: Load,
  pairs: readonly Pair[],
  { rounds, requests }: { readonly rounds: number; readonly requests: number },
): Promise<readonly Times[]> => {
  const times = pairs.map(() => ({ few: Array.of<number>(), many: Array.of<number>() }));
  for (let round = 0; round <= rounds; round += 1) {
    const asked = Array.from({ length: requests }, (_, n) => {
      // Multiples of the golden ratio: evenly spread and reproducible.
      const at = ((round * requests + n) * 0.618_033_988_749_895) % 1;
      return pairs.flatMap(({ few, many }, kind) => {
        const pair = [
          { into: times[kind]?.few, call: few(at) },
          { into: times[kind]?.many, call: many(at) },
        ];
        return n % 2 === 0 ? pair : pair.toReversed();
      });
    }).flat();
    const calls = asked.map(({ call }) => call);
    const { millis } = await load.ask({ calls, connections: 1, forMs: null });
    if (round > 0) for (const [n, { into }] of asked.entries()) into?.push(millis[n] ?? Number.NaN);
  }
  return times;
};
