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
  let waiting: (PromiseWithResolvers<void> & Pick<Call, "status" | "length">) | undefined;
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
      if (!text.startsWith(`HTTP/1.1 ${waiting?.status} `) || length !== expected) {
        const wanted = `${expected} bytes with ${waiting?.status}`;
        return fail(`expected ${wanted}, got ${head.toString("latin1")}`);
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
    ask: ({ bytes, status, length }) => {
      waiting = { ...Promise.withResolvers<void>(), status, length };
      socket.write(bytes);
      return waiting.promise;
    },
    close: () => socket.destroy(),
  };
};

const answer = async ({ calls, connections, forMs }: Work): Promise<Answers> => {
  const ports = [...new Set(calls.map(({ port }) => port))];
  const opened: Connection[] = [];
  const openEach = async () => {
    const byPort = new Map<number, Connection>();
    for (const port of ports) {
      const connection = await open(port);
      opened.push(connection);
      byPort.set(port, connection);
    }
    return byPort;
  };
  try {
    const callers = await Promise.all(Array.from({ length: connections }, openEach));
    const millis: number[] = [];
    let next = 0;
    const began = performance.now();
    const end = forMs === null ? Number.POSITIVE_INFINITY : began + forMs;
    await Promise.all(
      callers.map(async (byPort) => {
        for (let sent = performance.now(); sent < end; ) {
          const call = calls[forMs === null ? next : next % calls.length];
          if (call === undefined) return;
          next += 1;
          await byPort.get(call.port)?.ask(call);
          const now = performance.now();
          millis.push(now - sent);
          sent = now;
        }
      }),
    );
    return { millis, perSecond: (millis.length / (performance.now() - began)) * 1_000 };
  } finally {
    for (const { close } of opened) close();
  }
};

// A failure ends this thread: its starter throws it.
parentPort?.on("message", async (work: Work) => parentPort?.postMessage(await answer(work)));
