import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { expect, test } from "vitest";
import { decodeCheckpoint } from "../../../src/ledger/decode/decode.ts";
import { createCheckpointReader } from "../../../src/ledger/reading/read.ts";
import { runReader } from "../../../src/ledger/reading/reader.ts";
import { openCheckpointFile } from "../../../src/ledger/sources/chk-file.ts";
import { openSource } from "../../../src/ledger/sources/open-source.ts";
import { readHighWater } from "../../../src/log/high-water.ts";
import { canonicalType, splitType } from "../../../src/values/move-type.ts";
import { GENUINE_FOLDER } from "../../genuine.ts";
import { factsIn } from "../../log/contents.ts";
import { freshDatabase } from "../../postgres.ts";
import { asProtobuf } from "../as-protobuf.ts";

const SEQUENCE = 273_302_447n;

/** Indexes one checkpoint into an empty database, and returns its facts as the log has them. */
const factsThrough = async (setting: string, packages: readonly string[]) => {
  await using database = await freshDatabase();
  const source = openSource(setting);
  const options = { database, source, read: createCheckpointReader, packages };
  const range = { firstCheckpoint: SEQUENCE, last: SEQUENCE };
  await runReader({ ...options, ...range }, AbortSignal.timeout(20_000));
  await source.close();
  const highWater = await readHighWater(database.sql);
  return { facts: await factsIn(database), last: highWater?.last };
};

test("a genuine checkpoint alone in its range yields the same facts from a folder and an object store", async () => {
  const file = join(GENUINE_FOLDER, `${SEQUENCE}.chk`);
  const raw = await openCheckpointFile(file, await readFile(file));
  const checkpoint = decodeCheckpoint(raw);
  const types = checkpoint.transactions.flatMap(({ events }) => events.map(({ type }) => type));
  // The package that emitted the first event stands for the contract.
  const packages = [splitType(canonicalType(types[0] ?? "")).address];
  const ours = types.filter((type) => type.startsWith(`${packages[0]}::`));

  const directory = await mkdtemp(join(tmpdir(), "genuine-"));
  await copyFile(file, join(directory, `${SEQUENCE}.chk`));
  const fromFolder = await factsThrough(`dir:${directory}`, packages);
  await rm(directory, { recursive: true });

  const object = zstdCompressSync(asProtobuf(raw.bytes));
  const store = createServer((request, response) => {
    const there = request.url === `/${SEQUENCE}.binpb.zst`;
    response.writeHead(there ? 200 : 404).end(there ? object : "");
  });
  await new Promise<void>((listening) => store.listen(0, "127.0.0.1", listening));
  const { port } = store.address() as AddressInfo;
  const fromStore = await factsThrough(`http://127.0.0.1:${port}`, packages);
  store.closeAllConnections();
  store.close();

  expect(ours.length).toBeGreaterThan(0);
  const events = fromFolder.facts.filter(({ kind }) => kind === 0).map(({ type }) => type);
  expect(events).toEqual(ours);
  expect(fromFolder.last).toMatchObject({ sequence: SEQUENCE, digest: checkpoint.digest });
  expect(fromStore).toEqual(fromFolder);
});
