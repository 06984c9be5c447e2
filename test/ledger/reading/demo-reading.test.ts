import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { GrpcTypes } from "@mysten/sui/grpc";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import { writeDemoLedger } from "../../../demo/write.ts";
import { createCheckpointReader } from "../../../src/ledger/reading/read.ts";
import { runReader } from "../../../src/ledger/reading/reader.ts";
import { openSource } from "../../../src/ledger/sources/open-source.ts";
import { readHighWater } from "../../../src/log/high-water.ts";
import { contentsOf } from "../../log/contents.ts";
import { decimalsOf } from "../../log/decimals.ts";
import { freshDatabase } from "../../postgres.ts";
import { startGrpcServer } from "../sources/grpc-server.ts";
import { startObjectStore } from "../sources/object-store-server.ts";
import { until } from "../sources/taking.ts";

const CHECKPOINTS = 400;
const NEWEST = BigInt(CHECKPOINTS - 1);
const options = { seed: 7, noise: 0.5 };

/** A whole ledger of genuine wire bytes. */
const demoLedger = () => {
  const ledger = createDemoLedger(options);
  const bytes = Array.from({ length: CHECKPOINTS }, () => ledger.next().raw("protobuf"));
  const at = (sequence: bigint) => bytes[Number(sequence)] ?? new Uint8Array();
  return { ledger, at };
};

test("folder, object store and full node lead to the same log, decimals included", async () => {
  const { ledger, at } = demoLedger();
  const { packages, chainId, coinTypes } = ledger;
  const dir = await mkdtemp(join(tmpdir(), "demo-ledger-"));
  await writeDemoLedger({ ...options, dir, checkpoints: CHECKPOINTS, format: "chk" });
  await using store = await startObjectStore({
    newest: NEWEST,
    object: (sequence) => zstdCompressSync(at(sequence)),
  });
  await using node = await startGrpcServer({
    chainId,
    // The last stretch comes by the stream.
    newest: NEWEST - 100n,
    checkpoint: (sequence) => GrpcTypes.Checkpoint.fromBinary(at(sequence)),
  });

  const logOf = async (setting: string, knowsChain: boolean): Promise<string> => {
    await using database = await freshDatabase();
    const source = openSource(setting);
    await runReader(
      {
        database,
        source,
        read: createCheckpointReader,
        packages,
        firstCheckpoint: 0n,
        last: NEWEST,
      },
      AbortSignal.timeout(20_000),
    );
    await source.close();
    expect(await readHighWater(database.sql)).toMatchObject({
      chainId: knowsChain ? chainId : null,
    });
    const decimals = await decimalsOf(
      database,
      coinTypes.map(({ coinType }) => coinType),
    );
    expect(decimals).toEqual(new Map(coinTypes.map((coin) => [coin.coinType, coin.decimals])));
    return await contentsOf(database);
  };

  const fromFolder = await logOf(`dir:${dir}`, true);
  expect(await logOf(store.base.href, false)).toBe(fromFolder);
  const fromNode = logOf(`grpc+http://${node.host}`, true);
  await until(
    () => node.subscribers.size > 0,
    () => `${node.seen.subscriptions} subscriptions`,
  );
  node.produce(100);
  expect(await fromNode).toBe(fromFolder);
  await rm(dir, { recursive: true });
});
