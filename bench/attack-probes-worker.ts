/** The probes' thread. Sends each probe when due, whether or not earlier ones were answered. */
import { Agent, request } from "node:http";
import { parentPort, workerData } from "node:worker_threads";
import { z } from "zod";
import type { Probed, ProbeKind } from "./attack-probes.ts";

const EVERY_MS = 50;

/** Then a probe counts as unanswered. */
const PATIENCE_MS = 30_000;

const { port, key, body } = z
  .object({ port: z.int(), key: z.string(), body: z.string() })
  .parse(workerData);

const kept = new Agent({ keepAlive: true });

const ASKED = {
  health: { path: "/health", method: "GET" },
  query: {
    path: "/graphql",
    method: "POST",
    headers: {
      "content-type": "application/json",
      "content-length": Buffer.byteLength(body),
      "x-api-key": key,
    },
  },
} as const;

const ask = (kind: ProbeKind, dueMs: number, agent: Agent | false): Promise<Probed> =>
  new Promise((ended) => {
    const sent = request({ host: "127.0.0.1", port, agent, ...ASKED[kind] });
    let status = "none";
    let endedMs = Number.NaN;
    sent.once("response", (response) => {
      let text = "";
      response.on("data", (chunk: Buffer) => {
        text += chunk.toString("latin1");
      });
      response.once("end", () => {
        endedMs = performance.now();
        const refused = response.statusCode === 200 && text.includes('"errors":');
        status = refused ? "errors" : String(response.statusCode);
      });
    });
    sent.on("error", () => undefined);
    const patience = setTimeout(() => sent.destroy(), PATIENCE_MS);
    sent.once("close", () => {
      clearTimeout(patience);
      const tookMs = (Number.isNaN(endedMs) ? performance.now() : endedMs) - dueMs;
      ended({ kind, sentMs: performance.timeOrigin + dueMs, tookMs, status });
    });
    sent.end(kind === "query" ? body : undefined);
  });

let underWay: Promise<Probed>[] = [];
let dueMs = performance.now();
let fresh = false;

const tick = () => {
  // If this thread is late, probes still count from when they were due.
  while (dueMs <= performance.now()) {
    const agent = fresh ? false : kept;
    underWay.push(ask("health", dueMs, agent), ask("query", dueMs, agent));
    fresh = !fresh;
    dueMs += EVERY_MS;
  }
  setTimeout(tick, Math.max(0, dueMs - performance.now()));
};
tick();

parentPort?.on("message", () => {
  const taken = underWay;
  underWay = [];
  void Promise.all(taken).then((probed) => parentPort?.postMessage(probed));
});
