/**
 * A thousand subscriptions to one coin type: cost when idle, with empty checkpoints, and per
 * movement; and latency to the first and last subscriber. The service is a separate process; the
 * baseline has a single subscription.
 */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { getTableName } from "drizzle-orm";
import { createKey } from "../src/http/keys.ts";
import { LOG_CHANNEL } from "../src/log/append.ts";
import { openLog } from "../src/log/log.ts";
import { ledgerPipelines } from "../src/pipelines/ledger-pipelines.ts";
import { append, writeAll } from "../src/projections/batch-write.ts";
import { positionOf } from "../src/projections/position.ts";
import { tokenActivityTable } from "../src/projections/token-activity.ts";
import { type Figure, median, quantile, single, summedUp } from "./figure.ts";
import { startService } from "./graphql-servers.ts";
import { processorMs } from "./processes.ts";
import { type Scratch, scratchPostgres } from "./start.ts";

const STREAMS = 1_000;
const PER_KEY = 16;
const CHANGES = 100;
const EVERY_MS = 250;
const IDLE_MS = 10_000;

const COIN = `0x${"c0".padStart(64, "0")}::coin::COIN`;
const WALLET = `0x${"a".padStart(64, "0")}`;

export const bench = async (): Promise<readonly Figure[]> => {
  await using scratch = await scratchPostgres();
  await openLog(scratch.database, {
    chainId: "bench",
    packages: [WALLET],
    firstCheckpoint: 0n,
  });
  const commit = committing(scratch);
  for (const { name, watermark } of ledgerPipelines) {
    await scratch.database.sql`
      insert into ${scratch.database.sql(getTableName(watermark))} (pipeline, layout, next_checkpoint)
      values (${name}, 3, 0)`;
  }
  await commit(false);
  await using service = await startService(scratch);
  const { port } = service;
  const idleAlone = await costOf(service.pid, () => delay(IDLE_MS));

  const one = await openStreams(scratch, port, 1);
  const changesOfOne = await costOf(service.pid, () => changing(commit, one));
  one.close();

  const all = await openStreams(scratch, port, STREAMS);
  await commit(true);
  await all.all();
  const idle = await costOf(service.pid, () => delay(IDLE_MS));
  const empty = await costOf(service.pid, async () => {
    for (let at = 0; at < CHANGES; at += 1) {
      await commit(false);
      await delay(EVERY_MS);
    }
  });
  const changes = await costOf(service.pid, () => changing(commit, all));
  all.close();
  const percent = ({ ms, tookMs }: Cost<unknown>) => (100 * ms) / tookMs;
  const each = ({ ms }: Cost<unknown>) => ms / CHANGES;
  const times = (of: readonly number[]) =>
    `${median(of).toFixed(1)} ms (p95 ${quantile(of, 0.95).toFixed(1)})`;
  const open = `Subscriptions: share of a core, ${STREAMS.toLocaleString("en")} open`;
  const { first, last } = changes.value;
  return [
    {
      ...{ name: "idle", what: `${open}, nothing happens` },
      ...{ ...single("%", percent(idle)), better: "less", aim: 1 },
      detail: `without any ${percent(idleAlone).toFixed(2)} %`,
    },
    {
      ...{ name: "empty", what: `${open}, an empty checkpoint every ${EVERY_MS} ms` },
      ...{ ...single("%", percent(empty)), better: "less", aim: null },
    },
    {
      name: "movement",
      ...{ ...single("ms", each(changes)), better: "less", aim: 50 },
      what: `Subscriptions: processor time to send one movement to ${STREAMS.toLocaleString("en")}`,
      detail: `to one alone ${each(changesOfOne).toFixed(2)} ms`,
    },
    {
      name: "last",
      ...{ ...summedUp("ms", last, median), better: "less", aim: null },
      what: `Subscriptions: commit to the last of ${STREAMS.toLocaleString("en")}, median`,
      detail: `to the last ${times(last)}, to the first ${times(first)}, to one alone ${times(changesOfOne.value.last)}`,
    },
  ];
};

/** Commits a checkpoint as log and pipelines do: with a movement, or empty. */
const committing = ({ database }: Scratch) => {
  let next = 0n;
  return async (isMovement: boolean): Promise<void> => {
    const checkpoint = next;
    next += 1n;
    await database.transaction(async (tx) => {
      if (isMovement) {
        const movement = append(tokenActivityTable, [
          {
            coinType: COIN,
            position: positionOf({ checkpoint, transaction: 0, index: 0 }),
            activityType: "transfer",
            txDigest: `${checkpoint}`,
            timestampMs: checkpoint,
            amount: 1n,
            fromAddress: WALLET,
            toAddress: WALLET,
            signer: WALLET,
            tokenObjectId: WALLET,
          },
        ]);
        await writeAll(tx, [movement]);
      }
      for (const { watermark, name } of ledgerPipelines) {
        const isIts = isMovement && name === "token_activity";
        await tx.sql`
          update ${tx.sql(getTableName(watermark))}
          set next_checkpoint = ${checkpoint + 1n}, last_checkpoint = ${checkpoint},
              last_timestamp_ms = ${checkpoint},
              digest = ${isIts ? tx.sql`decode(lpad(${String(checkpoint)}, 64, '0'), 'hex')` : tx.sql`digest`}`;
      }
      await tx.sql`select pg_notify(${LOG_CHANNEL}, ${String(checkpoint + 1n)})`;
    });
  };
};

type Cost<Value> = { readonly ms: number; readonly tookMs: number; readonly value: Value };

const costOf = async <Value>(pid: number, work: () => Promise<Value>): Promise<Cost<Value>> => {
  const [before, began] = [processorMs(pid), performance.now()];
  const value = await work();
  return { ms: processorMs(pid) - before, tookMs: performance.now() - began, value };
};

type Streams = {
  /** Time of each one's newest event, ms. */
  readonly atMs: readonly number[];
  /** Resolves when all have had one more event than at the last call. */
  all(): Promise<void>;
  close(): void;
};

const openStreams = async (
  { database }: Scratch,
  port: number,
  count: number,
): Promise<Streams> => {
  const keys: string[] = [];
  while (keys.length * PER_KEY < count) {
    keys.push((await createKey(database, { kind: "graphql" })).secret);
  }
  const body = JSON.stringify({
    query: `subscription { tokenActivity(coinType: "${COIN}") {
      position activityType amount decimals fromAddress toAddress txDigest checkpointTimestamp } }`,
  });
  const atMs = Array.from({ length: count }, () => 0);
  let had = 0;
  let wanted = count;
  let done = Promise.withResolvers<void>();
  const sockets = await Promise.all(
    atMs.map(async (_, at): Promise<Socket> => {
      const socket = connect(port, "127.0.0.1");
      await once(socket, "connect");
      socket.write(
        `POST /graphql HTTP/1.1\r\nhost: 127.0.0.1:${port}\r\nx-api-key: ${keys[Math.floor(at / PER_KEY)]}\r\n` +
          `accept: text/event-stream\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
      const opened = Promise.withResolvers<void>();
      socket.on("data", (chunk) => {
        const text = chunk.toString("latin1");
        if (text.startsWith("HTTP/1.1 200")) opened.resolve();
        else if (text.startsWith("HTTP/1.1")) opened.reject(new Error(text));
        if (!text.includes("event: next")) return;
        atMs[at] = performance.now();
        had += 1;
        if (had === wanted) done.resolve();
      });
      await opened.promise;
      return socket;
    }),
  );
  return {
    atMs,
    all: async () => {
      await done.promise;
      wanted += count;
      done = Promise.withResolvers();
    },
    close: () => {
      for (const socket of sockets) socket.destroy();
    },
  };
};

/** Movements in sequence; latency to the first and last subscriber. */
const changing = async (commit: (isMovement: boolean) => Promise<void>, streams: Streams) => {
  const first: number[] = [];
  const last: number[] = [];
  for (let at = 0; at < CHANGES; at += 1) {
    await commit(true);
    const began = performance.now();
    await streams.all();
    first.push(streams.atMs.reduce((one, other) => Math.min(one, other)) - began);
    last.push(performance.now() - began);
    await delay(EVERY_MS);
  }
  return { first, last };
};
