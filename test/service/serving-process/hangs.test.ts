// @module-tag alone
import { Writable } from "node:stream";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepServing } from "../../../src/service/serving-process/keep.ts";
import { eventually, temporaryFolder } from "../process.ts";
import { processesOf } from "../processes.ts";

/** The pid of the process that serves, once it is another one than `former`. */
const servingBelowUs = (log: readonly unknown[], former?: number) =>
  eventually("a process that serves", async () => {
    const found = (await processesOf(process.pid)).find(
      ({ parent, command }) =>
        parent === process.pid && command.includes("serving-process/main.ts"),
    );
    const isOther = found !== undefined && found.pid !== former;
    return isOther ? { done: found.pid } : { seen: JSON.stringify(log) };
  });

/** As long as there is no database every request is answered 503, and the process is well. */
const OPENING = {
  databaseUrl: "postgres://nobody@127.0.0.1:1/none",
  packages: [],
  assets: { projects: [] },
};

const SNAPSHOT = {
  progress: { tip: null, pipelines: new Map() },
  evm: { chains: new Map(), records: new Map() },
  residentBytes: 1,
  cpuSeconds: 1,
  figures: [],
};

test("a hanging serving process is killed, and replaced on its port", async () => {
  await using folder = await temporaryFolder();
  vi.stubEnv("PORT", "0").stubEnv("DATA_DIR", folder.path);
  onTestFinished(() => void vi.unstubAllEnvs());
  const log: Record<string, unknown>[] = [];
  const sink = new Writable({
    write: (line, _encoding, done) => {
      log.push(JSON.parse(String(line)));
      done();
    },
  });
  await using serving = await keepServing({
    logger: pino(sink),
    bodyBytes: 1,
    // Sixty of them: longer than a slow machine loads the process's code.
    snapshotEveryMs: 300,
  });
  void serving
    .open(
      () => OPENING,
      () => SNAPSHOT,
    )
    .catch(() => undefined);
  const status = () =>
    fetch(`${serving.url}/health`, { headers: { connection: "close" } }).then(
      (answer) => answer.status,
      (error: Error) => error.message,
    );
  await expect.poll(status).toBe(503);
  const hanging = await servingBelowUs(log);
  process.kill(hanging, "SIGSTOP");
  await servingBelowUs(log, hanging);
  expect(log).toContainEqual(expect.objectContaining({ signal: "SIGKILL" }));
  await eventually("an answer from the same port", async () => {
    const seen = await status();
    return seen === 503 ? { done: seen } : { seen: String(seen) };
  });
}, 120_000);
