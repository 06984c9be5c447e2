/** `start` under load on a primary and a standby that confirms its commits, and what holds whatever became of the primary. */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect } from "vitest";
import { generateKeyPair } from "../../client/index.ts";
import { connect } from "../../src/database/connect.ts";
import { migrate } from "../../src/database/migrate.ts";
import { createKey, registerPublicKey } from "../../src/http/keys.ts";
import { watchAnswers } from "../chaos/answers.ts";
import { startLoad } from "../chaos/load.ts";
import { watchMarks } from "../chaos/marks.ts";
import { serveLedger } from "../chaos/served-ledger.ts";
import { bothReadings } from "../chaos/undisturbed.ts";
import { freePort } from "../lanes/redis-server.ts";
import { until } from "../lanes/until.ts";
import { randomFrom } from "../random.ts";
import { startPrimary } from "../streaming-replica.ts";
import { allEndedOnce } from "../ta/processing/all-ended.ts";
import { startProgram, temporaryFolder } from "./process.ts";

const SEED = 29;
const ASSET = "acme-sui";
const START_MS = 180_000;
const DRAIN_MS = 180_000;
/** What is promised on a machine that does little else. */
const PROMISED_MS = 10_000;

/** A deployment whose ledger grows, with requests and readers all the time. */
export const startDeployment = async () => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const at = (name: string) => join(folder.path, name);
  const one = opened.use(await startPrimary());
  const two = await one.standby("two");
  await one.run("alter system set synchronous_standby_names = 'two'");
  await one.run("select pg_reload_conf()");
  const hosts = `127.0.0.1:${one.port},127.0.0.1:${two.port}`;
  const url = `${one.url.replace(`127.0.0.1:${one.port}`, hosts)}?target_session_attrs=read-write`;
  const database = opened.use(connect({ url, max: 4, applicationName: "fail-over" }));
  await migrate(database);

  const ledger = opened.use(await serveLedger(at("ledger"), SEED));
  const load = opened.use(await startLoad(randomFrom(SEED)));
  const keys = generateKeyPair();
  await registerPublicKey(database, {
    publicKey: keys.publicKey,
    asset: ASSET,
    requireBound: true,
  });
  const token = {
    ...{ name: ASSET, ledger: "sui", coinType: ledger.coinType, whitelistGroupId: 1 },
    ta: { callbackUrl: load.receiver.url },
  };
  await writeFile(
    at("assets.json"),
    JSON.stringify({ projects: [{ name: "acme", tokens: [token] }] }),
  );
  await mkdir(at("data"));
  const port = await freePort();
  const settings = {
    DATABASE_URL: url,
    DATA_DIR: at("data"),
    PORT: `${port}`,
    LEDGER_SOURCE: `grpc+http://${ledger.node.host}`,
    SECURITY_TOKEN_PACKAGES: ledger.packages[0] ?? "",
    FIRST_CHECKPOINT: "0",
    ASSETS_FILE: at("assets.json"),
    TA_NODE: `grpc+http://${ledger.taking.host}`,
    TA_SUI_KEY: ledger.secretKey,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    PII_KEYS: `test:${randomBytes(32).toString("base64")}`,
    ALLOW_PRIVATE_CALLBACKS: "true",
    CALLBACK_RETRY_SECONDS: Array.from({ length: 40 }, () => "1").join(),
    RATE_LIMIT_PER_MINUTE: "1000000",
    LOG_FORMAT: "json",
    LOG_LEVEL: "warn",
  };
  const service = opened.use(startProgram(["start"], settings));
  const marks = opened.use(watchMarks(database));
  await until(
    "a register at the ledger's end",
    () => [marks.lowest(), ledger.newest(), service.printed.stderr.slice(-2_000)] as const,
    ([lowest, newest]) => lowest >= newest,
    START_MS,
  );
  const reader = await createKey(database, { kind: "graphql" });
  const served = `http://127.0.0.1:${port}`;
  const answers = opened.use(watchAnswers([served], reader.secret));
  const agent = load.begin({ url: served, secretKey: keys.secretKey });

  /** Until readers are answered, the register moves in every pipeline, and a request sent now was called back, ms. */
  const allWorks = async (probe: string): Promise<number> => {
    const beganMs = performance.now();
    const goal = ledger.newest() + 1n;
    const answered = answers.count();
    let request: string | undefined;
    void agent.send(probe, "whitelist").then((id) => {
      request = id;
    });
    /** When each was first seen, ms. */
    const since = new Map<string, number>();
    const works = {
      register: () => marks.lowest() >= goal,
      readers: () => answers.count() > answered,
      accepted: () => request !== undefined,
      "called back": () => load.called().has(`ta-${request}`),
    };
    await until(
      "everything to work",
      () => {
        for (const [what, does] of Object.entries(works)) {
          if (!since.has(what) && does()) since.set(what, Math.round(performance.now() - beganMs));
        }
        return [Object.fromEntries(since), service.printed.stderr.slice(-1_500)];
      },
      () => since.size === Object.keys(works).length,
      DRAIN_MS,
    );
    console.info(probe, Object.fromEntries(since));
    return performance.now() - beganMs;
  };
  const all = opened.move();
  return {
    ...{ one, two, url, database, ledger, load, settings, service, marks, answers, allWorks },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};

export type Deployment = Awaited<ReturnType<typeof startDeployment>>;

/** Loses the primary, promotes the standby, and waits until all works: within what is promised. */
export const expectSoonBack = async (
  { one, two, marks, load, allWorks, service }: Deployment,
  lose: () => Promise<unknown>,
) => {
  const calmMs = await allWorks("before");
  const mayLose = marks.mayCrash();
  const beganMs = performance.now();
  await lose();
  await two.promote();
  const promotedMs = performance.now() - beganMs;
  await allWorks("after");
  const tookMs = performance.now() - beganMs;
  mayLose();
  console.info(
    `works ${Math.round(tookMs)} ms after the loss, promoted after ${Math.round(promotedMs)} ms; the same takes ${Math.round(calmMs)} ms undisturbed`,
  );
  // Both scale with the machine; the rest is the loss.
  expect(tookMs - calmMs - promotedMs).toBeLessThan(PROMISED_MS);
  expect(load.wrong).toEqual([]);
  expect(service.printed.stderr).toContain(
    `127.0.0.1:${two.port} takes writes now, in place of 127.0.0.1:${one.port}`,
  );
};

/** Ends the load: every acknowledged request was processed once, and every result called back. */
export const expectAllCalledBack = async ({ load, database, ledger }: Deployment) => {
  await load.end();
  await until(
    "all results",
    () => [load.called().size, new Set(load.accepted).size] as const,
    ([called, accepted]) => called === accepted,
    DRAIN_MS,
  );
  const requests = await allEndedOnce(database, load.accepted.length);
  expect(requests.map(({ id }) => id).toSorted()).toEqual(load.accepted.toSorted());
  const taken = requests.flatMap(({ txId }) => txId ?? []);
  expect(ledger.takenFromOutside().toSorted()).toEqual(taken.toSorted());
};

/** Ends the ledger: no mark of the log went back, and all equals what an undisturbed service makes of it. */
export const expectUndisturbed = async (deployment: Deployment) => {
  const { ledger, marks, answers } = deployment;
  const last = await ledger.end();
  await until(
    "the last checkpoint in every pipeline",
    () => marks.lowest(),
    (lowest) => lowest === last + 1n,
    DRAIN_MS,
  );
  const { disturbed, undisturbed, falseAnswers } = await bothReadings(deployment, last);
  expect(disturbed.digests).toEqual(undisturbed.digests);
  expect(disturbed.rows).toEqual(undisturbed.rows);
  expect(disturbed.log === undisturbed.log, "the logs are equal").toBe(true);
  expect(falseAnswers).toEqual([]);
  expect([...marks.stepsBack, ...answers.wrong]).toEqual([]);
};
