import { afterAll, beforeAll, expect, test } from "vitest";
import { reconcile } from "../../src/audit/reconcile/reconcile.ts";
import { createReaders } from "../../src/database/readers.ts";
import { answerHere } from "../../src/graphql/answer-here.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { silent } from "./test-pipelines.ts";

const { signal } = new AbortController();
const CHECKPOINTS = 400;

let register: DemoRegister;
let readers: ReturnType<typeof createReaders>;

beforeAll(async () => {
  register = await demoRegister({ actionsPerCheckpoint: 4 });
  await register.advance(CHECKPOINTS);
  const { url } = register.database;
  readers = createReaders({ url, max: 2, applicationName: "test", readOnly: true });
});
afterAll(async () => {
  await readers.close();
  await register[Symbol.asyncDispose]();
});

const ask = (query: string, variables = {}) =>
  answerHere(
    { readers, packages: () => [], pipelines: ledgerPipelines, now: Date.now },
    { log: silent, signal },
  ).ask(query, variables);

const REGISTER = `query ($coinType: String!) {
  holderEvents(coinType: $coinType, limit: 1000) { eventType position address isFrozen }
}`;

type HolderEvent = {
  readonly eventType: string;
  readonly position: string;
  readonly address: string;
  readonly isFrozen: boolean;
};

/** A coin with several freezes, and its holder events that say the same. */
const expectedFreezes = async () => {
  for (const coinType of register.model.coins.keys()) {
    const { holderEvents } = await ask(REGISTER, { coinType });
    const all: readonly HolderEvent[] = JSON.parse(JSON.stringify(holderEvents));
    const freezes = all
      .filter(({ eventType }) => eventType === "address_frozen")
      .map(({ eventType: _, ...freeze }) => freeze);
    if (freezes.length > 3) return { coinType, freezes };
  }
  throw new Error("the demo ledger froze too few wallets");
};

const LIST = `query ($coinType: String!, $at: String) {
  addressFreezes(coinType: $coinType, atCheckpoint: $at) { position address isFrozen }
}`;

test("freezes are listed in chain order, now and as of a checkpoint", async () => {
  const { coinType, freezes } = await expectedFreezes();
  expect(await ask(LIST, { coinType })).toEqual({ addressFreezes: freezes });
  const at = `${BigInt(freezes[1]?.position ?? 0) / 1_000_000_000n}`;
  const { addressFreezes } = await ask(LIST, { coinType, at });
  expect(addressFreezes).toEqual(
    freezes.filter(({ position }) => BigInt(position) / 1_000_000_000n <= BigInt(at)),
  );
  await expect(ask(LIST, { coinType, at: `${CHECKPOINTS}` })).rejects.toThrow(/not indexed yet/);
});

test("indexerStatus shows the pipeline with its digest, and _meta does not wait for it", async () => {
  const status = await ask("{ indexerStatus { pipeline checkpoint digest } }");
  expect(status.indexerStatus).toContainEqual({
    pipeline: "address_freezes",
    checkpoint: `${CHECKPOINTS - 1}`,
    digest: expect.stringMatching(/^(?!0{64})[0-9a-f]{64}$/),
  });
  await register.database.transaction(async ({ sql }) => {
    const [before] = await sql`select * from address_freezes_watermark`;
    await sql`update address_freezes_watermark set next_checkpoint = 1, last_checkpoint = 0`;
    expect(before?.next_checkpoint).toBe(BigInt(CHECKPOINTS));
  });
  const { _meta } = await ask("{ _meta { checkpoint } }");
  expect(_meta).toEqual({ checkpoint: `${CHECKPOINTS - 1}` });
  await register.database.sql`
    update address_freezes_watermark
    set next_checkpoint = ${CHECKPOINTS}, last_checkpoint = ${CHECKPOINTS - 1}`;
});

test("reconcile finds nothing, then each row that was changed, removed or added", async () => {
  const { database } = register;
  const findings = async () => (await reconcile(database, { signal })).findings;
  expect(await findings()).toEqual([]);
  const { coinType, freezes } = await expectedFreezes();
  const [changed, removed] = freezes.map(({ position }) => position);
  await database.sql`
    update address_freezes set is_frozen = not is_frozen
    where coin_type = ${coinType} and position = ${changed ?? ""}`;
  await database.sql`
    delete from address_freezes where coin_type = ${coinType} and position = ${removed ?? ""}`;
  await database.sql`
    insert into address_freezes
    select coin_type, position + 1, tx_digest, timestamp_ms, address, is_frozen
    from address_freezes where coin_type = ${coinType} and position = ${changed ?? ""}`;
  const found = (await findings()).filter((line) => line.startsWith("address_freezes, "));
  expect(found).toEqual([
    expect.stringMatching(new RegExp(`position ${changed}: isFrozen is (true|false), the log`)),
    expect.stringMatching(/the row is stored, but the log gives none/),
    expect.stringMatching(new RegExp(`position ${removed}: the row is missing; the log gives`)),
  ]);
});
