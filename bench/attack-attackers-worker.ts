/** The attackers' thread: counts answers and discards them. */
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { parentPort } from "node:worker_threads";
import type { Order, Target } from "./attack-attackers.ts";
import type { Attack, Statuses } from "./attack-attacks.ts";

/** Not the probes' address, for separate ports: Linux has all of 127.0.0.0/8. */
const FROM = process.platform === "linux" ? { localAddress: "127.0.0.2" } : {};
const HOST = "127.0.0.1";

/** A caller waits at most this long for an answer. */
const PATIENCE_MS = 30_000;

type Count = (status: string) => void;

const pipelined = async (
  attack: Extract<Attack, { kind: "pipelined" }>,
  { port }: Target,
  count: Count,
): Promise<void> => {
  const one = `GET ${attack.path} HTTP/1.1\r\nhost: ${HOST}:${port}\r\n\r\n`;
  const bytes = Buffer.from(one.repeat(attack.requests));
  for (let round = 0; round < attack.rounds; round += 1) {
    const sockets = Array.from({ length: attack.connections }, (_, n): Socket => {
      const socket = connect({ port, host: HOST, ...FROM });
      socket.on("error", () => undefined);
      socket.once("close", () => count("closed"));
      socket.once("connect", () => socket.write(bytes));
      if (attack.allRead || n % 2 === 0) {
        socket.on("data", (chunk: Buffer) => {
          for (let at = 0; ; ) {
            at = chunk.indexOf("HTTP/1.1 ", at);
            if (at < 0) return;
            count(chunk.toString("latin1", at + 9, at + 12));
            at += 12;
          }
        });
      } else socket.pause();
      return socket;
    });
    await delay(attack.hangUpAfterMs);
    for (const socket of sockets) {
      socket.removeAllListeners("close");
      socket.destroy();
    }
  }
};

const asking = async (
  attack: Extract<Attack, { kind: "asking" }>,
  { port, key }: Target,
  count: Count,
): Promise<void> => {
  const { hangUpAfterMs } = attack;
  const agent = new Agent({ keepAlive: true, ...FROM });
  let sent = 0;
  const body = (): string => {
    sent += 1;
    const query = attack.everAnother ? `${attack.query}\n# ${sent}` : attack.query;
    return JSON.stringify({ query });
  };
  const ask = () =>
    new Promise<void>((ended) => {
      const text = body();
      const asked = request({
        port,
        host: HOST,
        path: "/graphql",
        method: "POST",
        headers: {
          "content-type": "application/json",
          "content-length": Buffer.byteLength(text),
          "x-api-key": key,
        },
        ...(hangUpAfterMs === undefined ? { agent } : { agent: false, ...FROM }),
      });
      let status = "none";
      asked.once("response", (response) => {
        response.resume();
        response.once("end", () => {
          status = String(response.statusCode);
        });
      });
      asked.on("error", () => undefined);
      const hangUp = setTimeout(() => asked.destroy(), hangUpAfterMs ?? PATIENCE_MS);
      asked.once("close", () => {
        clearTimeout(hangUp);
        count(status);
        ended();
      });
      asked.end(text);
    });
  const until = performance.now() + attack.forMs;
  const left = new AbortController();
  const callers = Array.from({ length: attack.callers }, async () => {
    while (performance.now() < until) {
      await ask();
      // Applies to refused connections, too.
      await delay(0);
    }
  });
  void delay(attack.forMs, undefined, { signal: left.signal }).then(
    // Also ends callers that still wait.
    () => agent.destroy(),
    () => undefined,
  );
  await Promise.all(callers);
  left.abort();
  agent.destroy();
};

const run = async ({ attack, target }: Order): Promise<Statuses> => {
  const statuses: Record<string, number> = {};
  const count: Count = (status) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  if (attack.kind === "pipelined") await pipelined(attack, target, count);
  else await asking(attack, target, count);
  return statuses;
};

parentPort?.on("message", (order: Order) => {
  void run(order).then((statuses) => parentPort?.postMessage(statuses));
});
