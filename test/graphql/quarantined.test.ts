/** What callers are told about a coin in quarantine, and that they are told about every other coin as ever. */
import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createReaders, type Readers } from "../../src/database/readers.ts";
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

let setup: Awaited<ReturnType<typeof withHistory>>;
let readers: Readers;
let ask: (query: string, variables?: object) => Promise<ReturnType<typeof JSON.parse>>;

beforeAll(async () => {
  setup = await withHistory();
  const { database } = setup;
  await project(database, damaged(factSource(database), isOfAcme(4n)), 7);
  readers = createReaders({ url: database.url, applicationName: "readers", max: 2 });
  const sources = { readers, packages: () => [PACKAGE], pipelines: PIPELINES, now: Date.now };
  const scope = { requestId: "r", log: pino({ level: "silent" }) };
  const engine = createEngine(schema, sources);
  ask = async (query, variables = {}) => {
    const answers = [];
    // Interpreted, and then compiled.
    for (let time = 0; time < 2; time += 1) {
      const { body } = await engine
        .read(JSON.stringify({ query, variables }))
        .answer(undefined, scope);
      answers.push(JSON.parse(body));
    }
    const [interpreted, compiled] = answers;
    expect(compiled.data).toEqual(interpreted.data);
    expect(compiled.extensions).toEqual(interpreted.extensions);
    expect(compiled.errors?.map(({ message }: Error) => message)).toEqual(
      interpreted.errors?.map(({ message }: Error) => message),
    );
    return compiled;
  };
});
afterAll(async () => {
  await readers[Symbol.asyncDispose]();
  await setup[Symbol.asyncDispose]();
});

const reason = expect.stringContaining("cannot read the object");
const HELD = { coinType: ACME, pipeline: "shared_token_objects", checkpoint: "4", reason };
const extensions = { code: "QUARANTINED", ...HELD };

const HOLDERS = `query ($coin: String!, $at: String, $stale: Boolean) {
  tokenHolders(coinType: $coin, atCheckpoint: $at, allowStale: $stale) { owner balance }
}`;
const holders = (coin: string, more: object = {}) => ask(HOLDERS, { coin, ...more });
const before = [{ owner: BOB, balance: "907" }];
const now = [{ owner: BOB, balance: "900" }];

test("holders of a held coin are QUARANTINED, its state before is read on request, and other coins are served", async () => {
  expect(await holders(ACME)).toMatchObject({ errors: [{ extensions }] });
  expect(await holders(ACME, { at: "4" })).toMatchObject({ errors: [{ extensions }] });
  expect(await holders(ACME, { at: `${LAST}` })).toMatchObject({ errors: [{ extensions }] });
  expect(await holders(ACME, { at: "4", stale: true })).toMatchObject({ errors: [{ extensions }] });
  expect((await holders(ACME, { at: "3" })).data.tokenHolders).toEqual(before);
  expect((await holders(ACME, { stale: true })).data.tokenHolders).toEqual(before);
  expect((await holders(BETA)).data.tokenHolders).toEqual(now);
  expect((await holders(BETA, { stale: true })).data.tokenHolders).toEqual(now);
  // What does not need the pipeline is served.
  const activity = `query ($coin: String!) { tokenActivity(coinType: $coin, limit: 100) { toAddress } }`;
  expect((await ask(activity, { coin: ACME })).data.tokenActivity).toHaveLength(Number(LAST) + 1);
});

test("a list along the chain ends before the quarantine on request", async () => {
  const list = `query ($coin: String!, $stale: Boolean, $order: SortOrder) {
    balanceChanges(coinType: $coin, allowStale: $stale, order: $order) { checkpoint }
  }`;
  expect(await ask(list, { coin: ACME })).toMatchObject({ errors: [{ extensions }] });
  const checkpointsOf = async (variables: object) => {
    const { data } = await ask(list, variables);
    return data.balanceChanges.map(({ checkpoint }: { checkpoint: string }) => checkpoint);
  };
  const all = (await checkpointsOf({ coin: BETA })).filter((at: string) => BigInt(at) < 4n);
  expect(all).not.toHaveLength(0);
  expect(await checkpointsOf({ coin: ACME, stale: true })).toEqual(all);
  expect(await checkpointsOf({ coin: ACME, stale: true, order: "DESC" })).toEqual(all.toReversed());
});

test("a list over coins leaves a held coin out and names it, and its page is as long as ever", async () => {
  const tokens = `query ($limit: Int) { tokens(limit: $limit) { coinType holderCount } }`;
  const { data, extensions: said } = await ask(tokens, { limit: 2 });
  expect(data.tokens).toHaveLength(2);
  expect(data.tokens.map(({ coinType }: { coinType: string }) => coinType)).not.toContain(ACME);
  expect(said).toEqual({ quarantined: [HELD] });
});

test("of several coins in one request only the held one is refused", async () => {
  const several = `query ($acme: String!, $beta: String!, $owner: String!) {
    acme: tokenBalance(coinType: $acme, owner: $owner) { balance }
    beta: tokenBalance(coinType: $beta, owner: $owner) { balance }
    roles: walletRoles(coinType: $acme) { owner }
    token(coinType: $beta) { holderCount ownerCount }
    stale: token(coinType: $acme, allowStale: true) { holderCount ownerCount }
  }`;
  const { data, errors } = await ask(several, { acme: ACME, beta: BETA, owner: BOB });
  expect(data).toEqual({
    acme: null,
    beta: { balance: "900" },
    roles: expect.any(Array),
    token: { holderCount: 1, ownerCount: 1 },
    stale: { holderCount: 1, ownerCount: 1 },
  });
  expect(errors).toMatchObject([{ path: ["acme"], extensions }]);
});

test("a moment before the quarantine is read by its time", async () => {
  const at = `query ($coin: String!, $time: String) {
    tokenHolders(coinType: $coin, atTimestamp: $time) { balance }
    _meta(atTimestamp: $time) { checkpoint checkpointTimestamp }
  }`;
  const { data } = await ask(`{ _meta(atCheckpoint: "2") { checkpointTimestamp } }`);
  const time = data._meta.checkpointTimestamp;
  const past = await ask(at, { coin: ACME, time });
  expect(past.errors).toBeUndefined();
  expect(past.data._meta.checkpointTimestamp).toBe(time);
  expect(past.data.tokenHolders).not.toHaveLength(0);
});

test("indexerStatus names the held coin until its release, which every query serves again", async () => {
  const status = `{ indexerStatus { pipeline digest quarantined { coinType checkpoint reason since } } }`;
  const held = async () => {
    const { data } = await ask(status);
    return data.indexerStatus.filter(
      ({ quarantined }: { quarantined: readonly object[] }) => quarantined.length > 0,
    );
  };
  const { pipeline, ...rest } = HELD;
  const since = expect.stringMatching(/^\d{4}-\d\d-\d\dT/);
  expect(await held()).toEqual([{ pipeline, digest: null, quarantined: [{ ...rest, since }] }]);

  expect(await retried(setup.database, factSource(setup.database))).toBeNull();
  expect(await held()).toEqual([]);
  expect((await holders(ACME)).data.tokenHolders).toEqual(now);
  expect((await holders(ACME, { at: "4" })).data.tokenHolders).toHaveLength(2);
  const { extensions: said } = await ask(`{ tokens { coinType } }`);
  expect(said).toBeUndefined();
});
