/** What tokens are asked themselves: how they are called, their schedules, and whether their logs add up. */
import { afterEach, beforeEach, expect, test } from "vitest";
import type { EvmNetwork } from "../../src/evm/contract/network.ts";
import { tokenDescription } from "../../src/evm/log/descriptions.ts";
import { netMinted, schedulesOf } from "../../src/evm/log/reads.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import type { Anvil, Deployed } from "./anvil.ts";
import { atHead, following, reorganise, until } from "./following.ts";
import { Refusal, startProxy } from "./proxy.ts";
import { DEADLINE_MS, networkOf, readingsIn } from "./reading.ts";
import { shareChain } from "./shared-chain.ts";

let chain: Anvil;
let token: Deployed;
let database: TestDatabase;

shareChain({}, async (started) => {
  chain = started;
  token = await chain.deploy("SecurityTokenV5", ["Acme Shares", "ACME", 6, 1_000_000]);
});

beforeEach(async () => {
  database = await freshDatabase();
});

afterEach(async () => {
  await database.close();
});

const networkWith = (
  url = chain.url,
  members: {
    address?: `0x${string}`;
    fromBlock?: number;
    identityRegistry?: `0x${string}`;
  } = {},
) =>
  networkOf([url], chain.chainId, [
    { address: token.address, type: "comakery_security_token_v5", ...members },
  ]);

const described = () => tokenDescription(database.db, chain.chainId, token.address);

/** Collects what is doubtful of the token after each check. */
const checking = (network: EvmNetwork) => {
  const checks: (readonly string[])[] = [];
  const follower = following(database, network, {
    check: { everyMs: 20, confirmMs: 5, onChecked: (_, doubts) => checks.push(doubts) },
  });
  return {
    ...follower,
    /** What the next check finds that begins after now. */
    next: async () => {
      const seen = checks.length;
      await until(
        () => checks.length >= seen + 2,
        () => `${checks.length} checks, errors ${follower.errors.map(String)}`,
      );
      return checks.at(-1);
    },
  };
};

test("an endless name is kept up to the length a record allows", async () => {
  const long = await chain.deploy("SecurityTokenV5", ["N".repeat(5_000), "ACME", 6, 1_000_000]);
  const network = networkOf([chain.url], chain.chainId, [
    { address: long.address, type: "comakery_security_token_v5" },
  ]);
  await using _ = following(database, network);
  await expect
    .poll(() => tokenDescription(database.db, chain.chainId, long.address), {
      timeout: DEADLINE_MS,
    })
    .toMatchObject({ name: "N".repeat(256), symbol: "ACME" });
});

test("a node that does not have the contract yet yields no description, and is asked again", async () => {
  let empty = true;
  let asked = 0;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method }, result) => {
      if (method !== "eth_call" && method !== "eth_getCode") return result;
      asked += 1;
      return empty ? "0x" : result;
    },
  });
  await using _ = following(database, networkWith(proxy.url), { describeAgainMs: 50 });
  await until(
    () => asked >= 10,
    () => asked,
  );
  expect(await described()).toBe(null);
  empty = false;
  await expect.poll(described, { timeout: DEADLINE_MS }).toMatchObject({ decimals: 6 });
});

test("missing parts of a token's description are requested again, and known ones stay", async () => {
  let silent = true;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method, params }, result) => {
      const { data = "" }: { data?: string } = Object(params[0]);
      const isDecimals = method === "eth_call" && data.startsWith("0x313ce567");
      const isName = method === "eth_call" && data.startsWith("0x06fdde03");
      return (silent ? isDecimals : isName) ? new Refusal(3, "execution reverted") : result;
    },
  });
  await using _ = following(database, networkWith(proxy.url), { describeAgainMs: 50 });
  await expect
    .poll(described, { timeout: DEADLINE_MS })
    .toMatchObject({ name: "Acme Shares", symbol: "ACME", decimals: null });
  const first = await described();
  silent = false;
  await expect.poll(described, { timeout: DEADLINE_MS }).toEqual({ ...first, decimals: 6 });
});

test("a schedule that a node could not return is read when the next log names it", async () => {
  let refused = 0;
  await using proxy = await startProxy(chain.url, {
    answer: ({ method, params }, result) => {
      const { data = "" }: { data?: string } = Object(params[0]);
      if (method !== "eth_call" || !data.startsWith("0x6aea0d2e") || refused >= 2) return result;
      refused += 1;
      return new Refusal(3, "execution reverted");
    },
  });
  const network = networkWith(proxy.url);
  await using _ = following(database, network);
  await chain.send(token, "createReleaseSchedule", [3, 7, 100, 9]);
  await atHead(database, network, chain);
  const known = () => schedulesOf(database.db, chain.chainId, token.address);
  expect(refused).toBe(2);
  expect(await known()).toEqual(new Map());
  await chain.send(token, "fundReleaseSchedule", [chain.wallet(1), 500, 1_000, 0, []]);
  await atHead(database, network, chain);
  expect((await known()).get(0n)).toMatchObject({ releaseCount: 3n });
});

test("mints and burns add up to the supply, through new blocks and reorganisations", async () => {
  const network = networkWith();
  await using checks = checking(network);
  await chain.send(token, "mint", [chain.wallet(1), 500]);
  await chain.send(token, "transfer", [chain.wallet(2), 10]);
  await chain.send(token, "burn", [chain.wallet(1), 200]);
  await atHead(database, network, chain);
  expect(await checks.next()).toEqual([]);
  const end = await chain.client.getBlockNumber();
  expect(await netMinted(database.db, chain.chainId, token.address, 0n, end)).toBe(1_000_300n);
  expect(await netMinted(database.db, chain.chainId, token.address, end, end)).toBe(-200n);

  await chain.send(token, "mint", [chain.wallet(3), 33]);
  await chain.client.mine({ blocks: 6 });
  await atHead(database, network, chain);
  expect(await checks.next()).toEqual([]);
  // The burn and what came after it are withdrawn, although they were final by depth.
  await reorganise(chain, token, 8, 4, 1);
  await atHead(database, network, chain);
  expect(await checks.next()).toEqual([]);
  const now = await chain.client.getBlockNumber();
  expect(await netMinted(database.db, chain.chainId, token.address, 0n, now)).toBe(1_000_500n);
});

test("a first block after the creation of the token is named, and so is a registry that is older", async () => {
  const registry = await chain.deploy("IdentityRegistry");
  await chain.send(registry, "setRegions", [chain.wallet(1), [7]]);
  const beta = await chain.deploy("SecurityTokenV5", ["Beta Shares", "BETA", 0, 500]);
  const created = Number(beta.receipt.blockNumber);
  await chain.send(beta, "transfer", [chain.wallet(1), 10]);
  const identityRegistry = registry.address;

  const late = networkWith(chain.url, {
    address: beta.address,
    fromBlock: created,
    identityRegistry,
  });
  {
    await using checks = checking(late);
    expect(await checks.next()).toEqual([
      expect.stringContaining(
        `contract ${registry.address} is older than its fromBlock (${created})`,
      ),
    ]);
  }
  // From the registry's first block on its groups are known.
  const early = networkWith(chain.url, {
    address: beta.address,
    fromBlock: Number(registry.receipt.blockNumber),
    identityRegistry,
  });
  await using elsewhere = await freshDatabase();
  await using follower = following(elsewhere, early);
  await atHead(elsewhere, early, chain);
  const group = (batches: typeof follower.batches, network: EvmNetwork) =>
    readingsIn(network, batches).get(beta.address)?.transfers.at(-1)?.toGroup;
  expect(group(follower.batches, early)).toBe(7n);
});
