import { Writable } from "node:stream";
import pino from "pino";
import { expect, onTestFinished, test, vi } from "vitest";
import { keepServing } from "../../src/serving-process/keep.ts";
import { eventually, temporaryFolder } from "../service/process.ts";
import { processesOf } from "../service/processes.ts";

const servingBelowUs = async () =>
  (await processesOf(process.pid)).find(
    ({ parent, command }) => parent === process.pid && command.includes("serving-process/main.ts"),
  );

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

test("a serving process that hangs without ending is killed, and replaced on its port", async () => {
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
    snapshotEveryMs: 100,
  });
  void serving.open(OPENING, () => SNAPSHOT).catch(() => undefined);
  const status = () =>
    fetch(`${serving.url}/health`, { headers: { connection: "close" } }).then(
      (answer) => answer.status,
      (error: Error) => error.message,
    );
  expect(await status()).toBe(503);
  const hanging = await servingBelowUs();
  process.kill(hanging?.pid ?? 0, "SIGSTOP");
  await eventually("another process that serves", async () => {
    const other = await servingBelowUs();
    const isOther = other !== undefined && other.pid !== hanging?.pid;
    return isOther ? { done: other.pid } : { seen: JSON.stringify(log) };
  });
  expect(log).toContainEqual(expect.objectContaining({ signal: "SIGKILL" }));
  await eventually("an answer from the same port", async () => {
    const seen = await status();
    return seen === 503 ? { done: seen } : { seen: String(seen) };
  });
}, 60_000);
