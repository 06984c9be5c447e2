/**
 * The load thread: raw requests over kept connections, reading only status and length. More work
 * would take time from the measured server.
 */
import { connect } from "node:net";
import { parentPort } from "node:worker_threads";
import type { Answers, Call, Work } from "./load.ts";

type Connection = {
  /** One call at a time; rejects an unexpected answer. */
  ask(call: Call): Promise<void>;
  close(): void;
};

const open = async (port: number): Promise<Connection> => {
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  let waiting: (PromiseWithResolvers<void> & { readonly length: number | null }) | undefined;
  let head: Buffer = Buffer.alloc(0);
  /** Remaining bytes of the body; null before the head. */
  let left: number | null = null;

  const fail = (what: string) => {
    waiting?.reject(new Error(what));
    waiting = undefined;
  };
  socket.on("data", (chunk: Buffer) => {
    if (left === null) {
      head = head.length === 0 ? chunk : Buffer.concat([head, chunk]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      const text = head.toString("latin1", 0, end);
      const length = Number(/\r\ncontent-length: *(\d+)/i.exec(text)?.[1]);
      const expected = waiting?.length ?? length;
      if (!text.startsWith("HTTP/1.1 200 ") || length !== expected) {
        return fail(`expected ${expected} bytes with 200, got ${head.toString("latin1")}`);
      }
      left = length - (head.length - end - 4);
      head = Buffer.alloc(0);
    } else left -= chunk.length;
    // GraphQL errors have status 200; with a known length they would show in it.
    if (waiting?.length === null && chunk.includes('"errors":')) {
      return fail(`an answer with errors: ${chunk.toString()}`);
    }
    if (left > 0) return;
    left = null;
    waiting?.resolve();
  });
  socket.on("error", ({ message }) => fail(message));
  socket.on("close", () => fail("the connection was closed"));
  await new Promise<void>((opened, failed) => {
    socket.once("connect", opened).once("error", failed);
  });
  return {
    ask: ({ bytes, length }) => {
      waiting = { ...Promise.withResolvers<void>(), length };
      socket.write(bytes);
      return waiting.promise;
    },
    close: () => socket.destroy(),
  };
};

/** Repeats the call over all connections until the time is up. */
const askFor = async (
  call: Call,
  connections: readonly Connection[],
  forMs: number,
): Promise<number[]> => {
  const until = performance.now() + forMs;
  const millis: number[] = [];
  await Promise.all(
    connections.map(async ({ ask }) => {
      for (let sent = performance.now(); sent < until; ) {
        await ask(call);
        const now = performance.now();
        millis.push(now - sent);
        sent = now;
      }
    }),
  );
  return millis;
};

const askOnce = async (
  calls: readonly Call[],
  connections: ReadonlyMap<number, Connection>,
): Promise<number[]> => {
  const millis: number[] = [];
  for (const call of calls) {
    const sent = performance.now();
    await connections.get(call.port)?.ask(call);
    millis.push(performance.now() - sent);
  }
  return millis;
};

const answer = async (work: Work): Promise<Answers> => {
  const opened: Connection[] = [];
  const openOne = async (port: number) => {
    const connection = await open(port);
    opened.push(connection);
    return connection;
  };
  try {
    if (work.kind === "once") {
      const ports = [...new Set(work.calls.map(({ port }) => port))];
      const byPort = new Map(
        await Promise.all(ports.map(async (port) => [port, await openOne(port)] as const)),
      );
      const began = performance.now();
      const millis = await askOnce(work.calls, byPort);
      return { millis, tookMs: performance.now() - began };
    }
    const { call, forMs } = work;
    await Promise.all(Array.from({ length: work.connections }, () => openOne(call.port)));
    const began = performance.now();
    const millis = await askFor(call, opened, forMs);
    return { millis, tookMs: performance.now() - began };
  } finally {
    for (const { close } of opened) close();
  }
};

parentPort?.on("message", (work: Work) => {
  answer(work).then(
    (answers) => parentPort?.postMessage(answers),
    (error: unknown) => parentPort?.postMessage({ failure: String(error) }),
  );
});
