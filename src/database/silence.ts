/**
 * Connections that went silent without a reset: behind a proxy that failed over, to a frozen server, into
 * a network that swallows packets. The driver would wait for ever.
 *
 * A connection that owes an answer and moves no byte, in either direction, is destroyed: at once where its
 * server would have cancelled the statement by then, and otherwise when the server, asked over a new
 * connection, does not work on it or does not answer. A migration or an index build may take hours. What
 * ran on it fails as on any lost connection, and its sender does what it does then.
 */
import type { Socket } from "node:net";
import { ServerSilentError } from "./database-error.ts";
import { owedAnswers } from "./messages.ts";

/** When a connection counts as silent. */
export type SilenceRule = {
  /** Without a byte while an answer is due, milliseconds. */
  readonly afterMs: number;
  /** Asks whether the server works on what process `pid` was sent; without it the answer is no. */
  readonly isWorking?: ((pid: number | undefined) => Promise<Working>) | undefined;
};

/** `unknown`: the server lives, and does not say. */
export type Working = "yes" | "no" | "unknown";

/** As long as nothing says that the server works on it, a statement is lost after so long. */
const UNKNOWN_MS = 600_000;

/** How often connections are looked at. */
const LOOK_MS = 1_000;

/** A pause of this process, or of its machine, counts as one look: what came meanwhile is not read yet. */
const LONGEST_LOOK_MS = 2 * LOOK_MS;

type Watched = {
  readonly socket: Socket;
  readonly owed: ReturnType<typeof owedAnswers>;
  readonly rule: SilenceRule;
  received: number;
  /** Bytes received and sent, as the last look saw them. */
  moved: number;
  silentMs: number;
  /** How long it must be silent before the server is asked (again); infinite while it is asked. */
  askAtMs: number;
};

const watched = new Set<Watched>();
let looking: NodeJS.Timeout | undefined;
let lookedMs = 0;

/**
 * Destroys a connected socket with a ServerSilentError once it is silent. Nothing was sent on it yet.
 * `isOwed` of the result tells at any time whether an answer is pending.
 */
export const watchForSilence = (
  socket: Socket,
  rule: SilenceRule,
): { readonly isOwed: boolean } => {
  const owed = owedAnswers();
  const one: Watched = {
    socket,
    owed,
    rule,
    received: 0,
    moved: 0,
    silentMs: 0,
    askAtMs: rule.afterMs,
  };
  const write = socket.write.bind(socket);
  type Done = (error?: Error | null) => void;
  socket.write = (chunk: Uint8Array | string, second?: BufferEncoding | Done, third?: Done) => {
    if (typeof chunk !== "string") owed.sent(chunk);
    return typeof second === "string" ? write(chunk, second, third) : write(chunk, second);
  };
  socket.on("data", (piece: Uint8Array) => {
    one.received += piece.length;
    owed.received(piece);
  });
  socket.once("close", () => {
    watched.delete(one);
    if (watched.size > 0) return;
    clearInterval(looking);
    looking = undefined;
  });
  watched.add(one);
  if (looking !== undefined) return owed;
  lookedMs = performance.now();
  looking = setInterval(lookAtAll, LOOK_MS).unref();
  return owed;
};

const lookAtAll = (): void => {
  const nowMs = performance.now();
  const passedMs = Math.min(nowMs - lookedMs, LONGEST_LOOK_MS);
  lookedMs = nowMs;
  for (const one of watched) look(one, passedMs);
};

const look = (one: Watched, passedMs: number): void => {
  const { socket, owed, rule } = one;
  // Rows that are copied to a slow consumer wait in the socket, which is paused.
  const moved = one.received + socket.bytesWritten - socket.writableLength;
  if (!owed.isOwed || moved !== one.moved || socket.isPaused()) {
    one.moved = moved;
    one.silentMs = 0;
    if (Number.isFinite(one.askAtMs)) one.askAtMs = rule.afterMs;
    return;
  }
  one.silentMs += passedMs;
  if (one.silentMs < one.askAtMs) return;
  if (rule.isWorking === undefined) {
    giveUp(one);
    return;
  }
  one.askAtMs = Number.POSITIVE_INFINITY;
  rule
    .isWorking(owed.pid)
    .catch((): Working => "no")
    .then((working) => {
      // Something may have come while the server was asked: that is for the next look.
      const isLost = working === "no" || (working === "unknown" && one.silentMs >= UNKNOWN_MS);
      if (isLost && one.silentMs >= rule.afterMs) giveUp(one);
      else one.askAtMs = one.silentMs + rule.afterMs;
    });
};

const giveUp = ({ socket, silentMs }: Watched): void => {
  // Behind what the driver has yet to write in this turn: it would send that again on the next connection.
  setImmediate(() => socket.destroy(new ServerSilentError(silentMs)));
};
