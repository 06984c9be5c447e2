/** One attack, in a thread of its own so that it does not delay the callers who are measured. */
import { Agent, request } from "node:http";
import { connect } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";

/** Connections that each ask for many pages at once, without a key. */
type Pages = {
  readonly kind: "pages";
  readonly connections: number;
  readonly requests: number;
  /** Otherwise every second connection reads nothing. */
  readonly allRead: boolean;
};

/** Callers with one key who ask again as soon as they are answered. */
type Queries = {
  readonly kind: "queries";
  readonly query: string;
  readonly callers: number;
  /** Makes every document unique. */
  readonly isUnique?: boolean;
  /** They hang up then, and connect again. */
  readonly hangUpAfterMs?: number;
};

export type Attack = Pages | Queries;

export type Order = {
  readonly attack: Attack;
  readonly port: number;
  readonly key: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly forMs: number;
};

const HOST = "127.0.0.1";
/** Leaves that address's ports to the measured callers: Linux has all of 127.0.0.0/8. */
const FROM = process.platform === "linux" ? { localAddress: "127.0.0.2" } : {};
/** The largest of what a browser loads. */
const PAGE = "/docs/js/scalar.js";

const { attack, port, key, variables, forMs }: Order = workerData;
const answers = new Map<string, number>();
const count = (answer: string) => answers.set(answer, (answers.get(answer) ?? 0) + 1);

const askForPages = async ({ connections, requests, allRead }: Pages) => {
  const bytes = `GET ${PAGE} HTTP/1.1\r\nhost: ${HOST}:${port}\r\n\r\n`.repeat(requests);
  const sockets = Array.from({ length: connections }, (_, n) => {
    const socket = connect({ port, host: HOST, ...FROM }).on("error", () => undefined);
    socket.once("close", () => count("closed"));
    socket.write(bytes);
    if (!allRead && n % 2 === 1) return socket.pause();
    return socket.on("data", (chunk: Buffer) => {
      for (let at = chunk.indexOf("HTTP/1.1 "); at >= 0; at = chunk.indexOf("HTTP/1.1 ", at + 9)) {
        count(chunk.toString("latin1", at + 9, at + 12));
      }
    });
  });
  await delay(forMs);
  for (const socket of sockets) socket.removeAllListeners("close").destroy();
};

const askQueries = async ({ query, callers, isUnique, hangUpAfterMs }: Queries) => {
  const kept = new Agent({ keepAlive: true, ...FROM });
  const end = performance.now() + forMs;
  let sent = 0;
  const ask = async () => {
    sent += 1;
    const body = JSON.stringify({ query: isUnique ? `${query}\n# ${sent}` : query, variables });
    const asked = request({
      ...{ port, host: HOST, path: "/graphql", method: "POST" },
      headers: { "content-type": "application/json", "x-api-key": key },
      ...(hangUpAfterMs === undefined ? { agent: kept } : { agent: false, ...FROM }),
    });
    const hangUp = setTimeout(() => asked.destroy(), hangUpAfterMs ?? end - performance.now());
    let answer = "none";
    asked.on("error", () => undefined);
    asked.on("response", (response) => {
      response.resume().on("end", () => {
        answer = String(response.statusCode);
      });
    });
    await new Promise((closed) => asked.on("close", closed).end(body));
    clearTimeout(hangUp);
    count(answer);
  };
  const caller = async () => {
    while (performance.now() < end) {
      await ask();
      // Lets others in, also when connections are refused at once.
      await delay(0);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  kept.destroy();
};

await (attack.kind === "pages" ? askForPages(attack) : askQueries(attack));
parentPort?.postMessage(answers);
