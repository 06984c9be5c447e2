// @module-tag thorough
/** Sources that say something wrong, over real HTTP and gRPC: reading waits, heals by itself, and the log is right. */
import { zstdCompressSync } from "node:zlib";
import { status } from "@grpc/grpc-js";
import { GrpcTypes } from "@mysten/sui/grpc";
import { expect, test } from "vitest";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import { readCertified } from "../../../src/ledger/proof/certificate.ts";
import { CommitteeError } from "../../../src/ledger/proof/proof-errors.ts";
import { readerAt } from "../../../src/ledger/reading/read.ts";
import type { ReaderOptions } from "../../../src/ledger/reading/reader.ts";
import { OtherChainError } from "../../../src/ledger/reading/source-trouble.ts";
import { oneOfSeveralPolicy } from "../../../src/ledger/sources/fetch-attempts.ts";
import { openSource } from "../../../src/ledger/sources/open-source.ts";
import type { CheckpointSource } from "../../../src/ledger/sources/source.ts";
import { createContact } from "../../../src/ledger/sources/source-contact.ts";
import {
  listSources,
  type SourceChange,
  type SourceListOptions,
} from "../../../src/ledger/sources/source-list.ts";
import { readSource } from "../../../src/log/log-source.ts";
import { proofOf } from "../../../src/log/proofs.ts";
import { until } from "../../lanes/until.ts";
import { contentsOf } from "../../log/contents.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { startGrpcServer } from "../sources/grpc-server.ts";
import { type StoreState, startObjectStore } from "../sources/object-store-server.ts";
import { nextOf, reached, start } from "./running.ts";
import { createScriptedLedger } from "./scripted-ledger.ts";

const CHECKPOINTS = 60;
const NEWEST = BigInt(CHECKPOINTS - 1);

const EPOCH = 20;

const bytesOf = (seed: number) => {
  const ledger = createDemoLedger({ seed, noise: 0.5, epochLength: EPOCH });
  const bytes = Array.from({ length: CHECKPOINTS }, () => ledger.next().raw("protobuf"));
  return { ledger, at: (sequence: bigint) => bytes[Number(sequence)] ?? new Uint8Array() };
};

const { ledger, at } = bytesOf(7);
const other = bytesOf(8);

const object = (sequence: bigint) => zstdCompressSync(at(sequence));

/** Reads what a source has with the shipping decoder, until `last` or the end of the test. */
const reading = (
  database: TestDatabase,
  source: CheckpointSource,
  options: Partial<ReaderOptions> = {},
) => {
  const running = start(database, createScriptedLedger({ newest: -1n }), {
    source,
    read: readerAt("links"),
    packages: ledger.packages,
    last: NEWEST,
    ...options,
    waits: { noteEveryMs: 20, ...options.waits },
  });
  return {
    ...running,
    [Symbol.asyncDispose]: async () => {
      await running.stop().catch(() => undefined);
      await source.close();
    },
  };
};

const readUndisturbed = async (): Promise<string> => {
  await using store = await startObjectStore({ newest: NEWEST, object });
  await using database = await freshDatabase();
  await using running = reading(database, openSource(store.base.href));
  await running.ended;
  return await contentsOf(database);
};

let contents: Promise<string> | undefined;
/** What a reading leaves in which nothing goes wrong: read once, for all tests. */
const undisturbed = (): Promise<string> => {
  contents ??= readUndisturbed();
  return contents;
};

test("an object store that answers with pages, a refusal and an old checkpoint stops nothing", async () => {
  const expected = await undisturbed();
  const page = (response: Parameters<StoreState["misbehave"]>[1]) =>
    response.writeHead(200, { "content-type": "text/html" }).end("<html>maintenance</html>");
  /** Wrong answers of single checkpoints, in this order; then it answers rightly. */
  const wrong = new Map<bigint, ((response: Parameters<typeof page>[0]) => unknown)[]>([
    [10n, [page, page, page, page, page, page]],
    [20n, [(response) => response.writeHead(403).end("denied")]],
    [
      30n,
      Array(4).fill((response: Parameters<typeof page>[0]) =>
        response.writeHead(200).end(object(29n)),
      ),
    ],
    [40n, [(response) => response.writeHead(200).end(object(40n).subarray(0, 100)), page, page]],
    [45n, [(response) => response.writeHead(301, { location: "https://elsewhere.example" }).end()]],
    [
      50n,
      [(response) => response.writeHead(200).end(zstdCompressSync(Buffer.from("no checkpoint")))],
    ],
  ]);
  await using store = await startObjectStore({
    newest: NEWEST,
    object,
    misbehave: (sequence, response, method) => {
      const answer = method === "GET" ? wrong.get(sequence)?.shift() : undefined;
      answer?.(response);
      return answer !== undefined;
    },
  });
  await using database = await freshDatabase();
  // One at a time: what is fetched ahead of a failure is let go.
  const source = openSource(store.base.href, { maxConcurrency: 1 });
  await using running = reading(database, source);
  await running.ended;
  expect([...wrong.values()].flat()).toEqual([]);
  expect(running.seen.latest).toMatchObject({ state: "done", error: null });
  expect(running.notices.join()).toMatch(/CheckpointDamagedError[\s\S]*SourceRefusedError/);
  expect(await contentsOf(database)).toBe(expected);
});

test("a full node that refuses, and returns an old checkpoint under a new number, stops nothing", async () => {
  const expected = await undisturbed();
  const refusals = [status.PERMISSION_DENIED, status.UNAUTHENTICATED, status.UNIMPLEMENTED];
  let old = 5;
  await using node = await startGrpcServer({
    chainId: ledger.chainId,
    newest: NEWEST,
    onCheckpoint: (sequence) => {
      const code = sequence === 20n ? refusals.shift() : undefined;
      return code === undefined ? undefined : { code };
    },
    checkpoint: (sequence) =>
      GrpcTypes.Checkpoint.fromBinary(at(sequence === 30n && old-- > 0 ? 29n : sequence)),
  });
  await using database = await freshDatabase();
  await using running = reading(database, openSource(`grpc+http://${node.host}`));
  await running.ended;
  expect(refusals).toEqual([]);
  expect(old).toBeLessThanOrEqual(0);
  // The store does not know its chain, and the node does.
  const chain = (text: string) => text.replaceAll(ledger.chainId, "").replaceAll("null", "");
  expect(chain(await contentsOf(database))).toBe(chain(expected));
});

test("a wrong newest checkpoint is corrected by the next answer", async () => {
  const newest = [10n ** 15n];
  await using store = await startObjectStore({ newest: NEWEST, object });
  await using database = await freshDatabase();
  const source = openSource(store.base.href);
  const told: CheckpointSource = {
    ...source,
    latest: async (signal) => newest.shift() ?? (await source.latest(signal)),
  };
  const options = { last: undefined, waits: { tipEveryMs: 50 } };
  await using running = reading(database, told, options);
  await reached(database, NEWEST + 1n);
  await until(
    "the tip",
    () => running.seen.latest?.tip,
    (tip) => tip === NEWEST,
  );
});

/** A store that is away. */
const away: StoreState["misbehave"] = (_, response) => {
  response.writeHead(503).end();
  return true;
};

type Store = Awaited<ReturnType<typeof startObjectStore>>;

/** Two stores as one source, as the service lists them. */
const listed = (stores: readonly [Store, Store], options: SourceListOptions = {}) => {
  const changes: SourceChange[] = [];
  const retry = { attempts: 2, damagedAttempts: 2, backoff: { firstMs: 5, maxMs: 10 } };
  const [one, two] = stores.map(
    (store) => (observer: SourceListOptions["observer"]) =>
      openSource(store.base.href, { retry, observer }),
  );
  if (one === undefined || two === undefined) throw new Error("two stores");
  const source = listSources([one, two], {
    ...options,
    onChange: (change) => changes.push(change),
  });
  return { source, changes };
};

test("when the first of two sources dies reading continues from the second, and from the first once it is back", async () => {
  const expected = await undisturbed();
  const first = await startObjectStore({ newest: 24n, object });
  await using second = await startObjectStore({ newest: 49n, object });
  await using database = await freshDatabase();
  const contact = createContact();
  const { source, changes } = listed([first, second], { observer: contact, returnAfterMs: 30 });
  await using running = reading(database, source, { contact });
  await reached(database, 25n);
  const used = async () => (await readSource(database.db))?.source;
  expect(await until("the first", used, (place) => place !== undefined)).toBe(first.base.origin);
  expect(second.seen.gets).toEqual([]);

  const { port } = first.base;
  await first[Symbol.asyncDispose]();
  await reached(database, 50n);
  await until("the second", used, (place) => place === second.base.origin);
  expect(changes[0]).toMatchObject({
    from: `${first.base.origin}/…`,
    to: `${second.base.origin}/…`,
  });
  expect(changes[0]?.reason).toMatch(/ECONNREFUSED|socket hang up/);

  await using back = await startObjectStore({ newest: NEWEST, object }, Number(port));
  await running.ended;
  expect(changes.at(-1)).toMatchObject({
    from: `${second.base.origin}/…`,
    reason: "the first one listed is back",
  });
  expect(back.seen.gets).toContain(NEWEST);
  expect(await contentsOf(database)).toBe(expected);
});

test("a first source that has only the newest checkpoints is returned to once it has the next one", async () => {
  const expected = await undisturbed();
  await using first = await startObjectStore({
    newest: NEWEST,
    object,
    // A node answers so for what it has pruned.
    misbehave: (sequence, response, method) => {
      if (method !== "GET" || sequence >= 40n) return false;
      response.writeHead(403).end("pruned");
      return true;
    },
  });
  await using second = await startObjectStore({ newest: 30n, object });
  await using database = await freshDatabase();
  const { source, changes } = listed([first, second], { returnAfterMs: 30 });
  await using running = reading(database, source);
  const askedAgain = () => first.seen.gets.filter((sequence) => sequence === 31n).length;
  await until("several looks at the first one", askedAgain, (times) => times >= 3);
  expect(changes.map(({ to }) => to)).toEqual([`${second.base.origin}/…`]);
  expect(running.seen.latest).toMatchObject({ state: "reading" });

  second.state.newest = 44n;
  await running.ended;
  expect(changes.map(({ to }) => to)).toEqual(
    [second, first].map(({ base }) => `${base.origin}/…`),
  );
  expect(await contentsOf(database)).toBe(expected);
});

test("a source that requests an hour's pause is left for the next one immediately", async () => {
  await using first = await startObjectStore({
    newest: NEWEST,
    misbehave: (_, response) => {
      response.writeHead(429, { "retry-after": "3600" }).end();
      return true;
    },
  });
  await using second = await startObjectStore({ newest: NEWEST, object });
  await using database = await freshDatabase();
  const opened = [first, second].map(
    ({ base }) =>
      (observer: SourceListOptions["observer"]) =>
        openSource(base.href, { retry: oneOfSeveralPolicy, observer }),
  );
  const [one, two] = opened;
  if (one === undefined || two === undefined) throw new Error("two stores");
  await using running = reading(database, listSources([one, two]));
  await running.ended;
  expect(running.notices.join()).toMatch(/failed 2 time\(s\) in a row; the last reason: HTTP 429/);
});

test("a wrong checkpoint from one source is read from the other, and a broken link at one alone stops nothing", async () => {
  const expected = await undisturbed();
  await using first = await startObjectStore({
    newest: NEWEST,
    // From here on it is of another chain, whole in itself.
    object: (sequence) =>
      sequence < 30n ? object(sequence) : zstdCompressSync(other.at(sequence)),
  });
  await using second = await startObjectStore({ newest: NEWEST, object });
  await using database = await freshDatabase();
  const { source } = listed([first, second]);
  await using running = reading(database, source);
  await running.ended;
  expect(running.notices.join()).toMatch(/CheckpointChainError: .* checkpoint 30 follows/);
  expect(await contentsOf(database)).toBe(expected);
});

test("a broken link at both sources stops the reader; while the second is away it waits", async () => {
  const forked = (sequence: bigint) =>
    sequence < 30n ? object(sequence) : zstdCompressSync(other.at(sequence));
  await using first = await startObjectStore({ newest: NEWEST, object: forked });
  await using second = await startObjectStore({
    newest: NEWEST,
    object: forked,
    misbehave: away,
  });
  await using database = await freshDatabase();
  const { source } = listed([first, second]);
  await using running = reading(database, source);
  const refused = () =>
    running.notices.filter((one) => one.includes("CheckpointChainError")).length;
  await until("several readings", refused, (times) => times >= 5);
  expect(running.seen.latest).not.toMatchObject({ state: "stopped" });

  second.state.misbehave = () => false;
  await expect(running.ended).rejects.toThrow(OtherChainError);
  await expect(running.ended).rejects.toThrow(/2 sources confirm this, so an operator must act/);
  expect(await nextOf(database)).toBe(30n);
});

/** Reads from the last epoch on, and proves each batch from a checkpoint that is trusted by its digest. */
const provingFrom = (digest: string): Partial<ReaderOptions> => ({
  read: readerAt("signatures"),
  verification: {
    level: "signatures",
    trust: async () => ({ checkpoint: { digest, sequence: null } }),
  },
  firstCheckpoint: NEWEST - 9n,
});

test("wrong answers while the first committee is sought stop nothing, and everything read is proven", async () => {
  const end = NEWEST - BigInt(EPOCH);
  const { digest } = readCertified({ sequence: end, encoding: "protobuf", bytes: at(end) }).header;
  let others = 1;
  await using node = await startGrpcServer({
    chainId: ledger.chainId,
    newest: NEWEST,
    firstAvailable: end + 1n,
    checkpoint: (sequence) => {
      const isOther = sequence === end && others > 0;
      if (isOther) others -= 1;
      return GrpcTypes.Checkpoint.fromBinary(isOther ? other.at(sequence) : at(sequence));
    },
  });
  await using database = await freshDatabase();
  const source = openSource(`grpc+http://${node.host}`);
  const waits = { confirmMs: 60_000 };
  await using running = reading(database, source, { ...provingFrom(digest), waits });
  const told = () => running.notices.join();
  await until("a refusal", told, (all) => /NotReachedError: .*no checkpoint of it ends/.test(all));
  node.state.firstAvailable = 0n;
  await running.ended;
  expect(others).toBe(0);
  expect(told()).toMatch(/TrustNotReachedError: .* has digest .* not the trusted/);
  expect(await proofOf(database, NEWEST - 9n)).toMatchObject({ epoch: 2n });
  expect(await nextOf(database)).toBe(NEWEST + 1n);
});

test("a trusted checkpoint that no source has stops the reader once all confirm it, naming what to compare", async () => {
  const trusted = provingFrom("1".repeat(32));
  await using first = await startObjectStore({ newest: NEWEST, object });
  await using second = await startObjectStore({
    newest: NEWEST,
    object,
    misbehave: away,
  });
  await using database = await freshDatabase();
  const { source } = listed([first, second]);
  await using running = reading(database, source, trusted);
  const doubted = () =>
    running.notices.filter((one) => one.includes("TrustNotReachedError")).length;
  await until("several readings", doubted, (times) => times >= 5);
  expect(running.seen.latest).not.toMatchObject({ state: "stopped" });

  second.state.misbehave = () => false;
  await expect(running.ended).rejects.toThrow(CommitteeError);
  await expect(running.ended).rejects.toThrow(
    /not the trusted 1+; .*2 sources confirm this, so an operator must act: compare TRUSTED_CHECKPOINT/,
  );
  expect(await proofOf(database, NEWEST - 9n)).toBeNull();

  await using alone = await freshDatabase();
  await using again = reading(alone, openSource(first.base.href), trusted);
  await expect(again.ended).rejects.toThrow(/the source confirms this, so an operator must act/);
});

test("sources of two chains are refused by name, at start or when the other's chain becomes known", async () => {
  const node = (chainId: string) =>
    startGrpcServer({
      chainId,
      newest: NEWEST,
      checkpoint: (sequence) => GrpcTypes.Checkpoint.fromBinary(at(sequence)),
    });
  await using one = await node(ledger.chainId);
  await using two = await node(other.ledger.chainId);
  const open = (host: string) => (observer: SourceListOptions["observer"]) =>
    openSource(`grpc+http://${host}`, {
      retry: { attempts: 2, damagedAttempts: 2, backoff: { firstMs: 5, maxMs: 10 } },
      observer,
    });
  const refusal = new RegExp(
    `${one.host} is of chain ${ledger.chainId}, and grpc.http://${two.host} of chain ${other.ledger.chainId}`,
  );
  {
    await using database = await freshDatabase();
    await using running = reading(database, listSources([open(one.host), open(two.host)]));
    await expect(running.ended).rejects.toThrow(refusal);
    expect(await nextOf(database)).toBe(0n);
  }
  two.state.onInfo = () => ({ code: status.UNAVAILABLE });
  await using database = await freshDatabase();
  const source = listSources([open(one.host), open(two.host)]);
  await using running = reading(database, source, { last: undefined });
  await reached(database, NEWEST + 1n);
  two.state.onInfo = () => undefined;
  await one[Symbol.asyncDispose]();
  await expect(running.ended).rejects.toThrow(refusal);
});
