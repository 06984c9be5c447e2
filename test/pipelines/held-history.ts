/** A history of three coins whose log seems damaged in one fact, and its projection. */
import { expect } from "vitest";
import { SHARED_TOKEN } from "../../src/ledger/contract/names.ts";
import type { Fact } from "../../src/log/fact.ts";
import { type FactSource, openLog } from "../../src/log/log.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { releaseCoin } from "../../src/pipelines/release.ts";
import { batch } from "../log/facts.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { running } from "./running.ts";
import {
  ACME,
  address,
  BETA,
  batchOf,
  grant,
  joinedGroup,
  minted,
  PACKAGE,
  removed,
  roleChanged,
  type SaidCheckpoint,
  token,
  transferred,
} from "./token-facts.ts";

const ALICE = address("a11ce");
/** The grant of ACME. */
export const GRANT = address("900");
const GRACE = address("67ace");
export const BOB = address("b0b");
const COINS = [ACME, BETA, `${address("ca")}::gama::GAMA`];

const ADMIN = `${PACKAGE.slice(2)}::roles::ContractAdmin`;

const tokenOf = (coin: string) => address(`70${COINS.indexOf(coin)}`);

/** In every checkpoint each coin's one token changes hands, with a role and a group, and in the fifth another one is burned again. */
const checkpoints: readonly SaidCheckpoint[] = Array.from({ length: 12 }, (_, number) => ({
  sequence: BigInt(number),
  transactions: COINS.map((coin) => {
    const [from, to] = number % 2 === 0 ? [BOB, ALICE] : [ALICE, BOB];
    const id = tokenOf(coin);
    return number === 0
      ? [
          minted({ tokenId: id, to, amount: 900n }, coin),
          token({ id, owner: to, balance: 900n }, coin),
          token({ id: address(`80${COINS.indexOf(coin)}`), owner: BOB, balance: 7n }, coin),
        ]
      : [
          transferred({ tokenId: id, from, to, amount: 900n }, coin),
          roleChanged({ owner: to, role: ADMIN, granted: number % 2 === 0 }, coin),
          joinedGroup({ addr: from, groupId: BigInt(number) }, coin),
          token({ id, owner: to, balance: 900n }, coin),
          grant(
            {
              id: address(`90${COINS.indexOf(coin)}`),
              owner: GRACE,
              leftBalance: 0n,
              tokensTransferred: BigInt(number),
            },
            coin,
          ),
          ...(number === 5
            ? [removed(SHARED_TOKEN, address(`80${COINS.indexOf(coin)}`), coin)]
            : []),
        ];
  }),
}));

export const LAST = BigInt(checkpoints.length - 1);

/**
 * A database with the history in its log.
 * @param alter what the log has in place of a fact
 */
export const withHistory = async (alter: (fact: Fact) => Fact = (fact) => fact) => {
  const database = await freshDatabase({ max: 8 });
  const log = await openLog(database, { chainId: null, packages: [PACKAGE], firstCheckpoint: 0n });
  const facts = batchOf(checkpoints)
    .facts.map(alter)
    .map((fact) => (fact.kind === "object" ? { ...fact, versionBefore: null } : fact));
  await log.append(batch(0n, LAST, facts), []);
  return { database, [Symbol.asyncDispose]: () => database.close() };
};

/** The log, as if some of its facts were others. */
export const altered = (log: FactSource, alter: (fact: Fact) => Fact): FactSource => ({
  ...log,
  readFacts: async (request) => {
    const found = await log.readFacts(request);
    if (found === null) return null;
    return { ...found, facts: found.facts.map(alter) };
  },
});

/** The log, as if these facts were cut short in it. */
export const damaged = (log: FactSource, isBad: (fact: Fact) => boolean): FactSource =>
  altered(log, (fact) =>
    fact.kind !== "removal" && isBad(fact) ? { ...fact, contents: cutShort(fact.contents) } : fact,
  );

export const cutShort = (contents: Uint8Array): Uint8Array => contents.subarray(0, 20);

/** Lets all pipelines read the log to its end, a few facts at a time. */
export const project = async (
  database: TestDatabase,
  log: FactSource,
  maxFacts: number,
  last = LAST,
) => {
  const bounds = { maxFacts, maxBytes: 1_000_000 };
  await using run = running(database, ledgerPipelines, { log, last, bounds });
  expect(await run.done).toMatchObject(ledgerPipelines.map(() => ({ state: "ended" })));
};

const found = ledgerPipelines.find(({ name }) => name === "shared_token_objects");
if (found === undefined) throw new Error("the pipeline has another name");
export const objects = found;

/** Gives the pipeline ACME's facts again. */
export const retried = (database: TestDatabase, log: FactSource, maxFacts = 5) =>
  releaseCoin({
    ...{ on: database, pipeline: objects, coinType: ACME, log, maxFacts, maxBytes: 1_000_000 },
    signal: new AbortController().signal,
  });

/** The token of ACME in a checkpoint. */
export const isOfAcme = (checkpoint: bigint) => (fact: Fact) =>
  fact.name === SHARED_TOKEN && fact.coinType === ACME && fact.checkpoint === checkpoint;
