import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { AssetsFileError, readAssets } from "../../../src/settings/assets.ts";
import { walletGroup } from "../../../src/ta/api/status.ts";
import { evmRegister } from "../../../src/ta/processing/register.ts";
import { appendGroups } from "../../../src/transfers/groups.ts";
import { freshDatabase } from "../../postgres.ts";
import { evmAsset } from "../../rest/service.ts";

const TOKEN = `0x${"ab".repeat(20)}` as const;
const wallet = (n: number) => `0x${String(n).padStart(40, "0")}` as const;

test("processing and whitelist_status agree on an EVM wallet's group, also for one never assigned", async () => {
  await using database = await freshDatabase();
  const scope = { project: "acme", chainId: 1 };
  const groupsOf: readonly (readonly [number, readonly bigint[]])[] = [
    [1, [5n]],
    [2, [5n]],
    [2, [0n]],
    [3, []],
  ];
  await database.transaction((tx) =>
    appendGroups(
      tx,
      scope,
      groupsOf.map(([n, groups], index) => ({
        token: TOKEN,
        wallet: wallet(n),
        groups,
        block: BigInt(index),
        logIndex: 0,
      })),
    ),
  );
  const register = evmRegister(database.sql, { ...scope, token: TOKEN });
  const asset = {
    name: "acme",
    project: "acme",
    callbackUrl: "http://127.0.0.1:9/",
    whitelistGroupId: 5,
    ledger: "evm" as const,
    token: {
      ...evmAsset({ address: TOKEN, chainId: 1, rpc: ["http://127.0.0.1:9/"] }),
      type: "comakery_security_token_v4" as const,
    },
  };
  for (const [n, group] of [
    [1, 5n],
    [2, 0n],
    [3, null],
    [4, null],
  ] as const) {
    expect((await register.place(wallet(n))).group).toBe(group);
    expect(await walletGroup(database.db, asset, wallet(n))).toBe(group);
  }
});

test("group 0 of an EVM token, which contains every wallet, is refused as a whitelisting target", async () => {
  const folder = await mkdtemp(join(tmpdir(), "assets-"));
  try {
    const file = join(folder, "assets.json");
    const token = { ...evmAsset({ address: TOKEN, chainId: 1, rpc: ["http://127.0.0.1:9/"] }) };
    const read = async (whitelistGroupId: number) => {
      const tokens = [{ ...token, whitelistGroupId }];
      await writeFile(file, JSON.stringify({ projects: [{ name: "acme", tokens }] }));
      return await readAssets(file);
    };
    await expect(read(0)).rejects.toThrow(AssetsFileError);
    await expect(read(0)).rejects.toThrow("projects[0].tokens[0].whitelistGroupId");
    expect((await read(1)).projects[0]?.tokens[0]?.whitelistGroupId).toBe(1);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});
