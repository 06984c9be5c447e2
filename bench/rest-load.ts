/** Asks a server from a thread of its own, so that asking does not wait for answering. */
import { Worker } from "node:worker_threads";

const SOURCE = `
  const { Agent, request } = require("node:http");
  const { parentPort } = require("node:worker_threads");
  parentPort.on("message", ({ calls, connections, forMs }) => {
    const agent = new Agent({ keepAlive: true, maxSockets: connections });
    const began = performance.now();
    const until = forMs === null ? Infinity : began + forMs;
    const millis = calls.map(() => []);
    let failure = null;
    let next = 0;
    const ask = (done) => {
      const place = next++;
      if (failure !== null || performance.now() >= until) return done();
      if (forMs === null && place >= calls.length) return done();
      const { url, key } = calls[place % calls.length];
      const fail = (what) => { failure ??= url + ": " + what; done(); };
      const sent = performance.now();
      request(url, { agent, headers: { "x-project-api-key": key } }, (answer) => {
        if (answer.statusCode !== 200) fail(answer.statusCode);
        else answer.resume().on("end", () => {
          millis[place % calls.length].push(performance.now() - sent);
          ask(done);
        });
      }).on("error", ({ message }) => fail(message)).end();
    };
    const loops = Array.from({ length: connections }, () => new Promise(ask));
    Promise.all(loops).then(() => {
      agent.destroy();
      parentPort.postMessage({ millis, failure, tookMs: performance.now() - began });
    });
  });`;

/** A request to make. */
export type Call = { readonly url: string; readonly key: string };

export type Load = AsyncDisposable & {
  /** Asks in turn for this long, over so many connections; requests a second. @throws when one fails */
  rate(calls: readonly Call[], over: { connections: number; forMs: number }): Promise<number>;
  /** Makes each call once, one after the other; how long each took, in ms. @throws when one fails */
  once(calls: readonly Call[]): Promise<readonly number[]>;
};

type Answer = {
  readonly millis: readonly (readonly number[])[];
  readonly failure: string | null;
  readonly tookMs: number;
};

export const startLoad = (): Load => {
  const worker = new Worker(SOURCE, { eval: true });
  const ask = async (calls: readonly Call[], connections: number, forMs: number | null) => {
    const answered = new Promise<Answer>((resolve) => worker.once("message", resolve));
    worker.postMessage({ calls, connections, forMs });
    const answer = await answered;
    if (answer.failure !== null) throw new Error(`a request failed: ${answer.failure}`);
    return answer;
  };
  return {
    rate: async (calls, { connections, forMs }) => {
      const { millis, tookMs } = await ask(calls, connections, forMs);
      return (millis.flat().length / tookMs) * 1_000;
    },
    once: async (calls) => (await ask(calls, 1, null)).millis.flat(),
    [Symbol.asyncDispose]: async () => {
      await worker.terminate();
    },
  };
};
