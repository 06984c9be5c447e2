/**
 * The demo ledger, live, as three servers: a full node and an object store to read from, which may misbehave, and a
 * full node that takes transactions. Every checkpoint is kept, to be read again undisturbed.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { GrpcTypes } from "@mysten/sui/grpc";
import { startDemoNode } from "../../demo/execution.ts";
import { demoSource } from "../../demo/source.ts";
import { type NodeState, startGrpcServer } from "../ledger/sources/grpc-server.ts";
import { type StoreState, startObjectStore } from "../ledger/sources/object-store-server.ts";

const PER_SECOND = 4;
const HISTORY = 60;
/** So many transactions of the registrar may be under way. */
const GAS_COINS = 24;

/** How the sources answer instead. */
export type Misbehaviour = {
  readonly node?: Partial<NodeState>;
  readonly store?: Partial<StoreState>;
  /** Which checkpoint a node says is the newest. */
  readonly head?: (newest: bigint) => bigint;
  /** Whether a node streams a checkpoint. */
  readonly isStreamed?: (sequence: bigint) => boolean;
};

export type ServedLedger = Awaited<ReturnType<typeof serveLedger>>;

/** Starts everything; resolves once the registrar can pay. */
export const serveLedger = async (dataDir: string, seed: number) => {
  await using opened = new AsyncDisposableStack();
  const source = demoSource({
    dataDir,
    seed: `chaos ${seed}`,
    story: "chance",
    checkpointsPerSecond: PER_SECOND,
    history: HISTORY,
  });
  opened.defer(() => source.close());
  const [coin] = source.coinTypes;
  if (coin === undefined) throw new Error("the demo ledger has no coin");
  const { registrar } = source.staff(coin.coinType);

  const protobuf: Uint8Array[] = [];
  const bytesAt = (sequence: bigint): Uint8Array => {
    const bytes = protobuf[Number(sequence)];
    if (bytes === undefined) throw new Error(`checkpoint ${sequence} was not made`);
    return bytes;
  };
  const object = (sequence: bigint) => zstdCompressSync(bytesAt(sequence));
  const decoded = (sequence: bigint) => GrpcTypes.Checkpoint.fromBinary(bytesAt(sequence));
  const node = opened.use(
    await startGrpcServer({
      chainId: (await source.chainId(new AbortController().signal)) ?? "",
      checkpoint: decoded,
      decimals: new Map(source.coinTypes.map(({ coinType, decimals }) => [coinType, decimals])),
    }),
  );
  const store = opened.use(await startObjectStore({ object }));
  const taking = opened.use(await startDemoNode(source));

  let newest = -1n;
  let announced = -1n;
  let behavedMs = Number.NEGATIVE_INFINITY;
  /** Which checkpoint the sources say is the newest, by the true one. */
  let head = (sequence: bigint) => sequence;
  let isStreamed = (_sequence: bigint) => true;
  const tell = () => {
    store.state.newest = newest;
    node.state.newest = head(newest);
    for (; announced < newest; announced += 1n) {
      if (isStreamed(announced + 1n)) node.announce(announced + 1n);
    }
  };
  const stop = new AbortController();
  const made = (async () => {
    for await (const { sequence, bytes } of source.checkpoints({ first: 0n }, stop.signal)) {
      protobuf[Number(sequence)] = bytes;
      newest = sequence;
      tell();
    }
  })();
  opened.defer(async () => {
    stop.abort();
    await made;
  });
  await source.submit({ sender: registrar, calls: [], gasCoins: GAS_COINS });
  const all = opened.move();
  return {
    source,
    coinType: coin.coinType,
    packages: source.packages,
    secretKey: Buffer.from(source.secretKey(registrar)).toString("base64"),
    node,
    store,
    taking,
    bytesAt,
    decoded,
    object,
    newest: () => newest,
    /** Digests of all transactions that it took from outside. */
    takenFromOutside: () =>
      [
        ...readFileSync(join(dataDir, "demo-ledger-receipts.jsonl"), "utf8").matchAll(
          /"digest":"(\w+)"/g,
        ),
      ].map(([, digest = ""]) => digest),
    /** The sources misbehave from now on. */
    misbehave: (how: Misbehaviour) => {
      head = how.head ?? head;
      isStreamed = how.isStreamed ?? isStreamed;
      Object.assign(node.state, how.node);
      Object.assign(store.state, how.store);
      tell();
    },
    /** They answer as they should; what they left unanswered stays so. */
    behave: () => {
      behavedMs = performance.now();
      head = (sequence) => sequence;
      isStreamed = () => true;
      const honest = {
        onCheckpoint: () => undefined,
        onInfo: () => undefined,
        onSubscribe: () => undefined,
      };
      Object.assign(node.state, honest, { checkpoint: decoded });
      Object.assign(store.state, { misbehave: () => false, object });
      tell();
    },
    /** Since when the sources answer as they should, `performance.now()`. */
    behavedMs: () => behavedMs,
    /** More coins to pay with. */
    refuel: () => source.submit({ sender: registrar, calls: [], gasCoins: GAS_COINS }),
    /** No further checkpoint; returns the last. */
    end: async () => {
      stop.abort();
      await made;
      return newest;
    },
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
};
