/** What callers are told about a coin in quarantine, and that they are told about every other coin as ever. */
import pino from "pino";
import { expect, test } from "vitest";
import { createReaders } from "../../src/database/readers.ts";
import { createEngine } from "../../src/graphql/engine.ts";
import { schema } from "../../src/graphql/schema.ts";
import { factSource } from "../../src/log/log.ts";
import {
  BOB,
  damaged,
  isOfAcme,
  LAST,
  project,
  retried,
  withHistory,
} from "../pipelines/held-history.ts";
import { ACME, BETA, PACKAGE } from "../pipelines/token-facts.ts";
import { PIPELINES } from "./api.ts";

const HOLDERS = `query ($coin: String!, $at: String, $stale: Boolean) {
  tokenHolders(coinType: $coin, atCheckpoint: $at, allowStale: $stale) { owner balance }
}`;

test("holders of a held coin are QUARANTINED, its state before is read on request, and other coins are served", async () => {
  await using setup = await withHistory();
  const { database } = setup;
  const log = factSource(database);
  await project(database, damaged(log, isOfAcme(4n)), 7);
  await using readers = createReaders({ url: database.url, applicationName: "readers", max: 2 });
  const sources = { readers, packages: () => [PACKAGE], pipelines: PIPELINES, now: Date.now };
  const scope = { requestId: "r", log: pino({ level: "silent" }) };
  const engine = createEngine(schema, sources);
  const ask = async (query: string, variables: object) => {
    const { body } = await engine
      .read(JSON.stringify({ query, variables }))
      .answer(undefined, scope);
    return JSON.parse(body);
  };
  const holders = (coin: string, more: object = {}) => ask(HOLDERS, { coin, ...more });
  const before = [{ owner: BOB, balance: "907" }];
  const now = [{ owner: BOB, balance: "900" }];

  const extensions = {
    code: "QUARANTINED",
    coinType: ACME,
    pipeline: "shared_token_objects",
    checkpoint: "4",
    reason: expect.stringContaining("cannot read the object"),
  };
  expect(await holders(ACME)).toMatchObject({ errors: [{ extensions }] });
  expect(await holders(ACME, { at: "4" })).toMatchObject({ errors: [{ extensions }] });
  expect(await holders(ACME, { at: `${LAST}` })).toMatchObject({ errors: [{ extensions }] });
  expect((await holders(ACME, { at: "3" })).data.tokenHolders).toEqual(before);
  expect((await holders(ACME, { stale: true })).data.tokenHolders).toEqual(before);
  expect((await holders(BETA)).data.tokenHolders).toEqual(now);
  expect((await holders(BETA, { stale: true })).data.tokenHolders).toEqual(now);
  // What does not need the pipeline is served.
  const activity = `query ($coin: String!) { tokenActivity(coinType: $coin, limit: 100) { toAddress } }`;
  expect((await ask(activity, { coin: ACME })).data.tokenActivity).toHaveLength(Number(LAST) + 1);

  expect(await retried(database, log)).toBeNull();
  expect((await holders(ACME)).data.tokenHolders).toEqual(now);
  expect((await holders(ACME, { at: "4" })).data.tokenHolders).toHaveLength(2);
});
