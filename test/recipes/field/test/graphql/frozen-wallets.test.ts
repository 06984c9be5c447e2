import { afterAll, beforeAll, expect, test } from "vitest";
import { createReaders } from "../../src/database/readers.ts";
import { answerHere } from "../../src/graphql/answer-here.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { silent } from "../pipelines/test-pipelines.ts";

const { signal } = new AbortController();
const CHECKPOINTS = 150;
const HALF = 75n;

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

const ask = (query: string, variables: Readonly<Record<string, string>> = {}) =>
  answerHere(
    { readers, packages: () => [], pipelines: ledgerPipelines, now: Date.now },
    { log: silent, signal },
  ).ask(query, variables);

const EVENTS = `query ($coinType: String!) {
  holderEvents(coinType: $coinType, limit: 1000) { eventType position address isFrozen }
}`;
const FROZEN = `query ($coinType: String!, $at: String) {
  frozenWallets(coinType: $coinType, atCheckpoint: $at) { address sinceCheckpoint }
}`;

/** The wallets that the coin's events leave frozen at the end of a checkpoint. */
const frozenBy = async (coinType: string, at: bigint) => {
  const { holderEvents } = await ask(EVENTS, { coinType });
  const events: readonly {
    readonly eventType: string;
    readonly position: string;
    readonly address: string;
    readonly isFrozen: boolean;
  }[] = JSON.parse(JSON.stringify(holderEvents));
  const since = new Map<string, bigint>();
  for (const { eventType, position, address, isFrozen } of events) {
    const checkpoint = BigInt(position) / 1_000_000_000n;
    if (eventType !== "address_frozen" || checkpoint > at) continue;
    if (!isFrozen) since.delete(address);
    else if (!since.has(address)) since.set(address, checkpoint);
  }
  return [...since]
    .map(([address, checkpoint]) => ({ address, sinceCheckpoint: `${checkpoint}` }))
    .sort((a, b) => (a.address < b.address ? -1 : 1));
};

test("frozen wallets are listed as the events leave them, now and as of a checkpoint", async () => {
  let seen = 0;
  for (const coinType of register.model.coins.keys()) {
    const now = await frozenBy(coinType, BigInt(CHECKPOINTS));
    expect(await ask(FROZEN, { coinType })).toEqual({ frozenWallets: now });
    expect(await ask(FROZEN, { coinType, at: `${HALF}` })).toEqual({
      frozenWallets: await frozenBy(coinType, HALF),
    });
    seen += now.length;
  }
  expect(seen).toBeGreaterThan(0);
});
