// @module-tag thorough
/** Queries while the tables that they read are exchanged for those of a replay, again and again. */

import pino from "pino";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../demo/demo-ledger.ts";
import { createReaders } from "../../src/database/readers.ts";
import { createEngine } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import { factSource } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { replay } from "../../src/pipelines/replay/replay.ts";
import { groupOf } from "../../src/pipelines/replay/tables.ts";
import { LOCKED_FIRST } from "../../src/pipelines/snapshot.ts";
import { until } from "../lanes/until.ts";
import { running } from "../pipelines/running.ts";
import { freshDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { PIPELINES } from "./api.ts";

const SEVERAL = `query ($coin: String!) {
  roleEvents(coinType: $coin, limit: 1) { position }
  _meta { checkpoint }
  tokenHolders(coinType: $coin) { balance }
  tokenActivity(coinType: $coin, limit: 5) { txDigest }
  balanceChanges(coinType: $coin, limit: 5) { balanceAfter }
}`;

const ONE = "query ($coin: String!) { tokenHolders(coinType: $coin) { balance } }";

test("no query fails or goes back while its tables are exchanged, whether it has one part or several", async () => {
  await using database = await freshDatabase({ max: 16 });
  const ledger = createDemoLedger({ seed: 7 });
  const following = await follow(database, ledger);
  const append = (count: number) =>
    following.append(
      Array.from({ length: count }, () => {
        const { sequence, raw } = ledger.next();
        return { sequence, encoding: "bcs" as const, bytes: raw("bcs") };
      }),
    );
  await append(150);
  await following.project(1_000);
  await using _live = running(database, ledgerPipelines);
  await using readers = createReaders({
    url: database.url,
    applicationName: "readers",
    max: 8,
    lockedFirst: LOCKED_FIRST,
  });
  const engine = createEngine(schema, {
    readers,
    packages: () => ledger.packages,
    pipelines: PIPELINES,
    now: Date.now,
  });
  const variables = { coin: ledger.coinTypes[0]?.coinType };
  const stop = new AbortController();
  const scope = { requestId: "r", key: "k", signal: stop.signal, log: pino({ level: "silent" }) };
  const [wrong, answered] = [[] as string[], { several: 0, one: 0 }];
  const asking = async (name: keyof typeof answered, query: string) => {
    let before = 0;
    while (!stop.signal.aborted) {
      const { body } = await engine
        .read(JSON.stringify({ query, variables }))
        .answer(undefined, scope);
      answered[name] += 1;
      if (stop.signal.aborted) return;
      const { data, errors } = JSON.parse(body);
      const at = Number(data?._meta?.checkpoint ?? 0);
      if (errors !== undefined || data.tokenHolders.length === 0 || at < before)
        wrong.push(`${before} ${at} ${body.slice(0, 300)}`);
      before = at;
    }
  };
  const work = [asking("several", SEVERAL), asking("several", SEVERAL), asking("one", ONE)];
  const writing = (async () => {
    while (!stop.signal.aborted) {
      const { several } = answered;
      await append(3);
      // The log grows with the answers: a longer one only takes longer to replay.
      await until(
        "queries beside the newest checkpoints",
        () => answered.several > several + 4 || stop.signal.aborted,
        (is) => is,
      );
    }
  })();
  await using on = await database.session();
  const groups = [
    ...new Map(
      ledgerPipelines.map((one) => [`${groupOf(one).map(({ name }) => name)}`, groupOf(one)]),
    ).values(),
  ];
  // The largest group once more: its tables came from an exchange.
  const largest = groups.toSorted((a, b) => b.length - a.length).slice(0, 1);
  for (const pipelines of [...groups, ...largest]) {
    const more = { database, log: factSource(database), share: 1, signal: stop.signal };
    await using replayed = await replay({ pipelines, ...more, onProgress: () => {} });
    await replayed.swap(on);
  }
  const before = { ...answered };
  await expect
    .poll(() => answered.several > before.several && answered.one > before.one)
    .toBe(true);
  stop.abort();
  await Promise.allSettled(work);
  await writing;
  expect(wrong.slice(0, 3)).toEqual([]);
  expect(answered.several).toBeGreaterThan(20);
});
