/** What decides whether running processes go on with another assets file. */
import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { allActs } from "../../src/audit/sequence/acts.ts";
import { noteProcess } from "../../src/log/process-notes.ts";
import { AssetsReloadError, reloadAssets, reloadLine } from "../../src/operator/reload-assets.ts";
import { assetEntries, assetsDigest } from "../../src/settings/asset-changes.ts";
import type { Assets, EvmToken } from "../../src/settings/assets.ts";
import { NO_BULK } from "../../src/values/bulk-progress.ts";
import { evmAsset } from "../evm/asset.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { setStatus } from "../ta/old-requests.ts";
import { acceptRequest } from "../ta/processing/circle.ts";
import { serveOperator } from "./service.ts";

const ta = { callbackUrl: "https://results.example/hook" };
const TOKEN = evmAsset({
  ...{ name: "acme-share", address: `0x${"5e".repeat(20)}`, chainId: 31_337 },
  ...{ rpc: ["http://127.0.0.1:9/secret"], whitelistGroupId: 1, ta },
});
const file = (...tokens: readonly EvmToken[]): Assets => ({
  projects: [{ name: "acme", tokens: [...tokens] }],
});
const OTHER = evmAsset({ ...TOKEN, name: "acme-bond", address: `0x${"b0".repeat(20)}` });

/** A process that indexes says that it runs with these. */
const runs = async ({ sql }: TestDatabase, assets: Assets) => {
  const known = { digest: assetsDigest(assets), entries: [...assetEntries(assets)] };
  const said = { queue: null, signers: [], signing: null, ...NO_BULK, assets: known };
  await noteProcess(sql, { id: randomUUID(), pid: 1, host: "here" }, said);
};

const actsOf = async ({ sql }: TestDatabase) => {
  const acts = [];
  for await (const act of allActs(sql)) acts.push(act);
  return acts;
};

const refusal = (reloading: Promise<unknown>): Promise<string> =>
  reloading.then(
    () => expect.fail("it was not refused"),
    (error: unknown) => {
      if (!(error instanceof AssetsReloadError)) throw error;
      return error.message;
    },
  );

test("a reload is recorded once with what was added, changed and removed, and names no token to auditors", async () => {
  await using database = await freshDatabase();
  const reload = (assets: Assets) => reloadAssets(database, { assets, key: null });
  expect(await refusal(reload(file(TOKEN)))).toMatch(/no process that indexes .* as it starts/);
  await runs(database, file(TOKEN));
  // Layout and defaults do not count.
  expect(await reload(file({ ...TOKEN }))).toBeNull();

  const changed = { ...TOKEN, whitelistGroupId: 2 };
  const reloaded = await reload(file(OTHER, changed));
  expect(reloaded).toMatchObject({
    added: ["token acme-bond"],
    changed: ["token acme-share"],
    removed: [],
  });
  if (reloaded === null) throw new Error("it was no change");
  expect(reloadLine(reloaded)).toBe(
    "1 added (token acme-bond), 1 changed (token acme-share), 0 removed",
  );
  const [act, ...others] = await actsOf(database);
  expect(others).toEqual([]);
  expect(act).toMatchObject({
    command: "assets reload",
    scope: "deployment",
    details: { added: "1", changed: "1", removed: "0", key: null, digest: reloaded.digest },
  });
  expect(JSON.stringify(act)).not.toMatch(/acme|secret/);
});

test("a reload back to the file that runs is recorded while another one is not followed yet", async () => {
  await using database = await freshDatabase();
  await runs(database, file(TOKEN));
  const reload = (assets: Assets) => reloadAssets(database, { assets, key: null });
  const digests = async () => (await actsOf(database)).map(({ details }) => details.digest);
  const other = await reload(file(TOKEN, OTHER));
  expect(await reload(file(TOKEN))).toMatchObject({ added: [], changed: [], removed: [] });
  expect(await digests()).toEqual([other?.digest, assetsDigest(file(TOKEN))]);
  expect(await reload(file(TOKEN))).toBeNull();
  expect(await digests()).toHaveLength(2);
});

test("a name that would mean another contract, and a token whose requests are open, are refused by name", async () => {
  await using database = await freshDatabase();
  await runs(database, file(TOKEN, OTHER));
  const reload = (assets: Assets) => reloadAssets(database, { assets, key: null });
  const moved = { ...TOKEN, address: `0x${"ff".repeat(20)}` } as const;
  expect(await refusal(reload(file(moved, OTHER)))).toBe(
    `token acme-share: it is ${TOKEN.type} ${TOKEN.address} on chain 31337 in project acme, and the file says ${TOKEN.type} ${moved.address} on chain 31337 in project acme; what was made from it stays under its name: give the new one another name, or restart the service`,
  );
  const id = await acceptRequest(database, { asset: "acme-bond", investorId: "investor-1" });
  const OPEN = /^token acme-bond: it has 1 open requests, .*keep it with its "ta"/;
  expect(await refusal(reload(file(TOKEN)))).toMatch(OPEN);
  const { ta: _, ...without } = OTHER;
  expect(await refusal(reload(file(TOKEN, without)))).toMatch(OPEN);
  expect(await actsOf(database)).toEqual([]);
  await setStatus(database.sql, id, "SUCCESS");
  expect(await reload(file(TOKEN))).toMatchObject({ removed: ["token acme-bond"] });
});

test("with an operator's key a reload tells what changed, and a refusal is 409 with its reasons", async () => {
  await using database = await freshDatabase();
  let assets = file(TOKEN, OTHER);
  await using api = await serveOperator(database, {
    reloadAssets: (key) => reloadAssets(database, { assets, key }),
  });
  const post = async (key?: string) => {
    // A note of a process is fresh for some seconds only.
    await runs(database, file(TOKEN));
    return api.post("/operator/assets/reload", undefined, key);
  };
  expect((await post(api.keys.graphql)).status).toBe(403);
  expect((await post()).json).toEqual({
    ...{ reloaded: true, added: ["token acme-bond"], changed: [], removed: [] },
  });
  const [act] = await actsOf(database);
  expect(act?.details.key).toMatch(/^key_[0-9a-f]{12}$/);
  assets = file({ ...TOKEN, chainId: 1 });
  const refused = await post();
  expect(refused.status).toBe(409);
  expect(refused.text).toContain("token acme-share: it is");
  expect(await actsOf(database)).toHaveLength(1);
});
