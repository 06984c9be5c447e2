/** An EVM token in quarantine: it alone stops, and a release leaves no trace of it. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { readQuarantines } from "../../src/projections/quarantines.ts";
import { holdsOf } from "../../src/transfers/holds.ts";
import { type Receiver, startReceiver } from "../callbacks/receiver.ts";
import { runCommand } from "../commands/run-command.ts";
import type { Anvil, Deployed } from "../evm/anvil.ts";
import { emitTransfer, garble, MALFORMED } from "../evm/malformed.ts";
import { shareChain } from "../evm/shared-chain.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import {
  deliver,
  evmAsset,
  index,
  type Project,
  serve,
  type TransferEventJson,
  waitFor,
} from "../rest/service.ts";

let chain: Anvil;
let one: Deployed;
let bad: Deployed;
let two: Deployed;
let database: TestDatabase;
let receiver: Receiver;

shareChain({}, async (started) => {
  chain = started;
  one = await chain.deploy("SecurityTokenV4", ["One Shares", "ONE", 6, 1_000_000]);
  bad = await chain.deploy("MalformedToken", ["Bad Shares", "BAD", 6, 2_000_000]);
  two = await chain.deploy("SecurityTokenV4", ["Two Shares", "TWO", 6, 3_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
  receiver = await startReceiver();
});

afterEach(async () => {
  await receiver.close();
  await database.close();
});

const acme = (finality = 0): readonly [Project] => [
  {
    name: "acme",
    callbackUrl: receiver.url,
    tokens: [one, bad, two].map(({ address }) =>
      evmAsset({ address, chainId: chain.chainId, rpc: [chain.url], finality }),
    ),
  },
];

const pay = (token: Deployed, amount: number) =>
  chain.send(token, "transfer", [chain.wallet(1), amount]);

/** All transactions of a block: the next ones until `mine`. */
const together = async (...payments: readonly (readonly [Deployed, number])[]) => {
  await chain.request("evm_setAutomine", [false]);
  for (const [token, amount] of payments) {
    await chain.submit(token.address, chain.encode(token, "transfer", [chain.wallet(1), amount]));
  }
  await chain.request("anvil_mine", ["0x1"]);
  await chain.request("evm_setAutomine", [true]);
};

const amounts = (records: readonly TransferEventJson[]) => records.map(({ amount }) => amount);

const called = () => receiver.received.map(({ body }): number => JSON.parse(body).amount);

const badName = () => `${chain.chainId}:${bad.address}`;

const quarantine = (...args: readonly string[]) =>
  runCommand(["quarantine", ...args], { DATABASE_URL: database.url });

const held = () =>
  waitFor(
    () => holdsOf(database.db),
    ({ length }) => length === 1,
  );

const ids = (records: readonly TransferEventJson[]) => records.map(({ id }) => id);

const MINTED = [1_000_000, 2_000_000, 3_000_000];

test("every malformed Transfer holds its own token alone, and the others go on and are called back", async () => {
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme());
  await using _index = await index(database, acme());
  await api.until(({ length }) => length === 3);
  let paid = 10;
  for (const [name, log] of Object.entries(MALFORMED)) {
    const snapshot = await chain.request("evm_snapshot");
    await emitTransfer(chain, bad, log);
    await pay(bad, 7);
    await pay(one, paid);
    await pay(two, paid + 1);
    const [hold] = await waitFor(
      () => holdsOf(database.db),
      ({ length }) => length === 1,
    );
    expect(hold?.token, name).toBe(bad.address);
    expect(hold?.reason).toContain("is not a well-formed Transfer");
    await waitFor(called, (seen) => seen.includes(paid) && seen.includes(paid + 1));
    expect(amounts(await api.list()), name).toEqual([...MINTED, paid, paid + 1]);
    expect(called()).not.toContain(7);
    const { headers } = await api.get("/r/api/v2/transfer_events?limit=1");
    expect(headers.get("quarantined"), name).toBe(
      `"${chain.chainId}:${bad.address}";block="${hold?.block}";after="${hold?.afterId}"`,
    );
    paid += 2;
    await chain.request("evm_revert", [snapshot]);
    await chain.request("anvil_mine", ["0x9"]);
    await waitFor(
      () => holdsOf(database.db),
      ({ length }) => length === 0,
      JSON.stringify,
    );
  }
});

test("ids of the others do not shift, and a released token has the rows and callbacks of an undisturbed run", async () => {
  await together([one, 10], [bad, 11], [two, 12]);
  await together([bad, 666], [one, 20], [bad, 21], [two, 22], [bad, 23]);
  await together([one, 30], [bad, 31], [two, 32]);
  await using undisturbed = await freshDatabase({ max: 8 });
  const whole = await (async () => {
    await using _index = await index(undisturbed, acme());
    await using api = await serve(undisturbed, acme());
    return await api.until(({ length }) => length === 14);
  })();
  const ofOthers = whole.filter(({ amount }) => ![666, 21, 23, 31].includes(Number(amount)));

  const mend = await garble(database, 666);
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme());
  await using _index = await index(database, acme());
  const held = await api.until(({ length }) => length === 10);
  expect(ids(held)).toEqual(ids(ofOthers));
  await waitFor(called, ({ length }) => length === 10);
  const withheld = await api.get(
    `/r/api/v2/transfer_events?tx_hash=${whole.find(({ amount }) => amount === 31)?.tx_hash}`,
  );
  expect([withheld.status, withheld.body]).toEqual([
    409,
    {
      error: "QUARANTINED",
      code: "QUARANTINED",
      details: expect.stringMatching(
        `^${chain.chainId}:${bad.address} is in quarantine from block `,
      ),
      requestId: withheld.headers.get("x-request-id"),
      httpRequestId: withheld.headers.get("x-request-id"),
    },
  ]);

  await mend();
  expect(await quarantine("retry", badName())).toEqual({
    code: 0,
    stdout: "transfer_events acme: released\n",
    stderr: "",
  });
  const released = await api.until(({ length }) => length === 14);
  expect(ids(released)).toEqual(ids(whole));
  expect(amounts(released)).toEqual(amounts(whole));
  await waitFor(
    () => holdsOf(database.db),
    ({ length }) => length === 0,
  );
  expect((await api.get("/r/api/v2/transfer_events")).headers.has("quarantined")).toBe(false);
  await waitFor(called, ({ length }) => length === 14);
  const ofBad = [2_000_000, 11, 666, 21, 23, 31];
  expect(called().filter((amount) => ofBad.includes(amount))).toEqual(ofBad);
});

test("a log that no version can apply is left out for ever, and its id stays unused", async () => {
  await together([one, 10], [bad, 666], [bad, 11], [two, 12]);
  await using undisturbed = await freshDatabase({ max: 8 });
  const whole = await (async () => {
    await using _index = await index(undisturbed, acme());
    await using api = await serve(undisturbed, acme());
    return await api.until(({ length }) => length === 7);
  })();
  await garble(database, 666);
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme());
  {
    await using _index = await index(database, acme());
    await held();
    const why = ["--by", "Jane Roe", "--because", "emitted by a test of the issuer"];
    const early = await quarantine("resolve", badName());
    expect(early.code).toBe(2);
    const resolved = await quarantine("resolve", badName(), ...why);
    expect(resolved).toMatchObject({ code: 0, stderr: "" });
    expect(resolved.stdout).toMatch(
      /^transfer_events acme: left out for ever: log 2 of block 4\ntransfer_events acme: released\n$/,
    );
  }
  const left = await api.until(({ length }) => length === 6);
  expect(left).toEqual(
    whole
      .filter(({ amount }) => amount !== 666)
      .map((record) => ({ ...record, token: expect.anything() })),
  );
  await waitFor(called, ({ length }) => length === 6);
  // Derived anew, it is left out again.
  expect(
    await runCommand(["evm", "reread", "--chain", `${chain.chainId}`, "--token", bad.address], {
      DATABASE_URL: database.url,
    }),
  ).toMatchObject({ code: 0 });
  await using _index = await index(database, acme());
  await pay(bad, 13);
  const again = await api.until((records) => records.some(({ amount }) => amount === 13));
  expect(ids(again).slice(0, 6)).toEqual(ids(left));
  expect(await holdsOf(database.db)).toEqual([]);
  const [history] = await readQuarantines(database, { ended: true });
  expect(history).toMatchObject({
    pipeline: "transfer_events acme",
    coinType: badName(),
    resolutions: [{ by: "Jane Roe", because: "emitted by a test of the issuer" }],
    released: { checkpoint: 4n },
  });
});

test("a reorganisation that withdraws the log ends the quarantine; one above it does not", async () => {
  await using _delivery = await deliver(database);
  await using api = await serve(database, acme(20));
  await using _index = await index(database, acme(20));
  await pay(one, 10);
  await emitTransfer(chain, bad, [[], "0x"]);
  await pay(bad, 11);
  await pay(two, 12);
  const [hold] = await held();
  await api.until(({ length }) => length === 5);

  await chain.request("anvil_rollback", [1]);
  await pay(two, 22);
  await chain.request("anvil_mine", ["0x2"]);
  await api.until((records) => records.some(({ amount }) => amount === 22));
  expect(await held()).toEqual([hold]);

  const head = await chain.client.getBlockNumber();
  await chain.request("anvil_rollback", [Number(head - (hold?.block ?? 0n) + 1n)]);
  await pay(bad, 31);
  await pay(two, 32);
  await chain.request("anvil_mine", ["0x20"]);
  const after = await api.until((records) => records.some(({ amount }) => amount === 32));
  expect(amounts(after)).toEqual([...MINTED, 10, 31, 32]);
  expect(await holdsOf(database.db)).toEqual([]);
  await waitFor(called, ({ length }) => length === 6);
  expect(called()).toEqual(expect.arrayContaining([...MINTED, 10, 31, 32]));
});

test("metrics count the held token and tell for how long it is held, and neither after its end", async () => {
  await using api = await serve(database, acme());
  await using _index = await index(database, acme());
  await api.until(({ length }) => length === 3);
  const shown = async (name: string) =>
    (await api.get("/metrics")).text
      .split("\n")
      .filter((line) => line.startsWith(`holderbook_evm_quarantined_${name}{`));
  const labels = `project="acme",chain="${chain.chainId}"`;
  const name = acme()[0].tokens[1]?.name;
  const counted = (tokens: number) =>
    waitFor(
      () => shown("tokens"),
      (lines) => lines.join() === `holderbook_evm_quarantined_tokens{${labels}} ${tokens}`,
    );
  await counted(0);
  await emitTransfer(chain, bad, [[], "0x"]);
  await held();
  await database.sql`update transfer_event_holds set since = since - interval '1 hour'`;
  await counted(1);
  await waitFor(
    async () => (await shown("seconds")).map((line) => line.split("} ")),
    (lines) =>
      lines.length === 1 &&
      lines[0]?.[0] === `holderbook_evm_quarantined_seconds{${labels},token="${name}"` &&
      Math.floor(Number(lines[0]?.[1]) / 60) === 60,
  );
  await quarantine("resolve", badName(), "--by", "Jane Roe", "--because", "a test");
  await counted(0);
  expect(await shown("seconds")).toEqual([]);
});

test("processes that die while facts are held, and while they are released, lose and repeat nothing", async () => {
  for (const amount of [10, 20, 30])
    await together([one, amount], [bad, amount + 1], [two, amount + 2]);
  await pay(bad, 666);
  await together([one, 40], [bad, 41], [two, 42]);
  const cut = () =>
    database.sql`
      select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`.catch(() => undefined);
  const mend = await garble(database, 666);
  const listed = (records: number) =>
    waitFor(
      () => api.list().catch(() => []),
      ({ length }) => length === records,
      amounts,
    );
  await using api = await serve(database, acme());
  {
    await using _index = await index(database, acme());
    await held();
    await cut();
    await listed(14);
  }
  await mend();
  // The next start tries held facts itself.
  await using _index = await index(database, acme());
  await cut();
  await pay(one, 50);
  const records = await listed(17);
  expect(amounts(records)).toEqual([
    ...MINTED,
    ...[10, 20, 30].flatMap((amount) => [amount, amount + 1, amount + 2]),
    ...[666, 40, 41, 42, 50],
  ]);
  // Begun now: a delivery whose process dies is sent again, under its id.
  await using _delivery = await deliver(database);
  await waitFor(called, ({ length }) => length === 17);
  expect(new Set(receiver.received.map(({ id }) => id)).size).toBe(17);
});
