/** A token whose contract answers no question, or with what should hurt: the others of its network go on. */
import { encodeAbiParameters, pad, toEventSelector } from "viem";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Anvil, Deployed } from "../evm/anvil.ts";
import { emitTransfer } from "../evm/malformed.ts";
import { shareChain } from "../evm/shared-chain.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { evmAsset, index, type Project, serve } from "../rest/service.ts";

let chain: Anvil;
let sound: Deployed;
let database: TestDatabase;

shareChain({}, async (started) => {
  chain = started;
  sound = await chain.deploy("SecurityTokenV4", ["One Shares", "ONE", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase({ max: 16 });
});

afterEach(() => database.close());

const WAYS = [
  "reverts",
  "fails",
  "never ends",
  "answers nothing",
  "answers a megabyte",
  "calls itself limited in rate",
];

const wallet = pad("0x11", { size: 32 });

for (const [way, does] of WAYS.entries()) {
  test(`a token that ${does} stops no other, and has its records`, async () => {
    const hostile = await chain.deploy("HostileToken", [way]);
    const acme: Project = {
      name: "acme",
      tokens: [sound, hostile].map(({ address }) =>
        evmAsset({ address, chainId: chain.chainId, rpc: [chain.url], finality: 0 }),
      ),
    };
    const amount = encodeAbiParameters([{ type: "uint256" }], [7n]);
    await emitTransfer(chain, hostile, [[wallet, wallet], amount]);
    const schedule = toEventSelector("ScheduleCreated(address,uint256)");
    await chain.send(hostile, "emitLog", [[schedule, wallet, amount], "0x"]);
    await using indexing = await index(database, [acme]);
    await using api = await serve(database, [acme]);
    await chain.send(sound, "transfer", [chain.wallet(1), 10]);
    const records = await api
      .until(({ length }) => length === 3)
      .catch((error: Error) => {
        throw new Error(`${error.message} ${indexing.logged.slice(-5).join("")}`);
      });
    expect(records.map((record) => record.amount)).toEqual([1_000_000, 7, 10]);
  });
}
