/**
 * A replay with an exchange of tables beside 200 requests a second: queries of now and of the past, a subscription
 * and a live ledger. The baseline is the same load before the replay.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Agent, request } from "node:http";
import { text } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { z } from "zod";
import { type Figure, quantile, ratioOf } from "./figure.ts";
import { LAUNCHER, startHolderbook } from "./start.ts";

const PER_SECOND = 200;
const EVERY_MS = 1_000 / PER_SECOND;
const BASELINE_MS = 20_000;
const HISTORY = 10_000;

const SERVICE = {
  LOG_LEVEL: "warn",
  VERIFY: "off",
  DEMO_STORY: "chance",
  DEMO_HISTORY: String(HISTORY),
  DEMO_CHECKPOINTS_PER_SECOND: "4",
  RATE_LIMIT_PER_MINUTE: "10000000",
};

const NOW = `query ($coin: String!) {
  _meta { checkpoint }
  tokenHolders(coinType: $coin) { owner balance }
  tokenActivity(coinType: $coin, limit: 10) { txDigest }
  indexerStatus { checkpoint }
}`;
const ONE = "query ($coin: String!) { tokenHolders(coinType: $coin) { owner balance } }";
const PAST =
  'query ($coin: String!) { tokenHolders(coinType: $coin, atCheckpoint: "1000") { owner balance } }';
const FOLLOW = "subscription ($coin: String!) { balanceChanges(coinType: $coin) { position } }";

const answer = z.object({
  data: z.object({
    _meta: z.object({ checkpoint: z.string() }).optional(),
    tokenHolders: z.array(z.object({ owner: z.string(), balance: z.string() })).min(1),
  }),
});

export const bench = async (): Promise<Figure> => {
  await using service = await startHolderbook(SERVICE);
  const agent = new Agent({ keepAlive: true });
  const ask = (query: string, variables = {}, accept = "application/json") => {
    const sent = request(`http://127.0.0.1:${service.port}/graphql`, {
      agent,
      method: "POST",
      headers: { "content-type": "application/json", "x-api-key": service.key, accept },
    });
    sent.end(JSON.stringify({ query, variables }));
    return once(sent, "response").then(([response]) => response);
  };
  const meta = z.object({ data: z.object({ _meta: z.object({ checkpoint: z.coerce.number() }) }) });
  const indexed = async () =>
    meta.parse(JSON.parse(await text(await ask("{ _meta { checkpoint } }")))).data._meta.checkpoint;
  while ((await indexed()) < HISTORY) await delay(200);

  const coins = z.object({
    data: z.object({ tokens: z.array(z.object({ coinType: z.string() })) }),
  });
  const coin = coins.parse(JSON.parse(await text(await ask("{ tokens { coinType } }")))).data
    .tokens[0]?.coinType;

  const failures: string[] = [];
  const positions: bigint[] = [];
  const followed = await ask(FOLLOW, { coin }, "text/event-stream");
  followed.setEncoding("utf8").on("data", (chunk: string) => {
    for (const [, position = ""] of chunk.matchAll(/"position":"(\d+)"/g)) {
      positions.push(BigInt(position));
    }
  });
  let ended = false;
  followed.once("close", () => {
    if (!ended) failures.push("the subscription ended");
  });

  let past: string | undefined;
  let last = 0;
  const one = async (query: string, times: number[]) => {
    const begun = performance.now();
    const before = last;
    try {
      const body = await text(await ask(query, { coin }));
      times.push(performance.now() - begun);
      if (body.includes('"errors"')) throw new Error(body.slice(0, 300));
      const { data } = answer.parse(JSON.parse(body));
      const at = Number(data._meta?.checkpoint ?? before);
      if (at < before) failures.push(`_meta went back from ${before} to ${at}`);
      last = Math.max(last, at);
      if (query === PAST) {
        if (past !== undefined && past !== body) failures.push("the past changed");
        past = body;
      }
    } catch (error) {
      failures.push(String(error));
    }
  };
  /** Begins requests at a constant rate, however long they take. */
  const load = async (until: () => boolean): Promise<readonly number[]> => {
    const times: number[] = [];
    const running = new Set<Promise<void>>();
    const begun = performance.now();
    for (let n = 0; !until(); n += 1) {
      const each = one([NOW, ONE, PAST, ONE][n % 4] ?? ONE, times);
      running.add(each);
      void each.finally(() => running.delete(each));
      await delay(Math.max(0, begun + (n + 1) * EVERY_MS - performance.now()));
    }
    await Promise.all(running);
    return times;
  };
  const lasting = (ms: number) => {
    const end = performance.now() + ms;
    return () => performance.now() > end;
  };
  await load(lasting(5_000));
  const alone = await load(lasting(BASELINE_MS));

  const args = [LAUNCHER, "replay", "--swap"];
  const replay = spawn(process.execPath, args, {
    cwd: service.dataDir,
    env: { PATH: process.env.PATH, DATA_DIR: service.dataDir, ...SERVICE },
  });
  const printed = Promise.all([text(replay.stdout), text(replay.stderr)]);
  let code: number | null | undefined;
  replay.once("exit", (exit) => {
    code = exit;
  });
  const begun = performance.now();
  const beside = await load(() => code !== undefined);
  const seconds = (performance.now() - begun) / 1_000;
  if (code !== 0) failures.push(`replay ended with ${code}: ${(await printed).join("")}`);
  await load(lasting(2_000));
  ended = true;
  followed.destroy();
  agent.destroy();
  if (positions.length === 0) failures.push("the subscription was silent");
  if (positions.some((position, n) => n > 0 && position < (positions[n - 1] ?? 0n))) {
    failures.push("the subscription went back");
  }
  const p99 = (times: readonly number[]) => quantile(times, 0.99);
  if (failures.length > 0) {
    throw new Error(
      `${failures.length} failed or wrong answers: ${failures.slice(0, 3).join("; ")}`,
    );
  }
  const worst = (times: readonly number[]) => quantile(times, 1).toFixed(1);
  return {
    name: "p99",
    what: `Replay with its exchange beside ${PER_SECOND} requests a second: p99 / p99 before it, no failed request`,
    ...ratioOf("ms", [p99(beside)], [p99(alone)]),
    ...{ better: "less", aim: 2 },
    detail:
      `${HISTORY} checkpoints and four a second live; ${alone.length} requests before, ${beside.length} beside, in ` +
      `${seconds.toFixed(0)} s; the worst ${worst(beside)} / ${worst(alone)} ms; ${positions.length} movements followed`,
  };
};
