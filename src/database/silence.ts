/**
 * Detects connections that went silent without a reset: a failed-over proxy, a frozen server, a
 * network that drops packets. The driver would wait for ever.
 *
 * A connection that owes an answer and moves no byte is destroyed: when its statement timeout has
 * passed, or when the server, asked over another connection, does not work on it or does not
 * answer. (An index build may take hours.) Its statements fail as on a lost connection.
 */
import type { Socket } from "node:net";
import postgres from "postgres";
import { ServerSilentError } from "./database-error.ts";
import { owedAnswers } from "./messages.ts";
import { askHost, type Probe } from "./probe.ts";
import type { Target } from "./socket.ts";

export type SilenceRule = {
  /** Milliseconds without a byte while an answer is due. */
  readonly afterMs: number;
  /** Asks whether the server works for process `pid`; absent means no. */
  readonly isWorking?: ((pid: number | undefined) => Promise<Working>) | undefined;
};

/** `unknown`: the server answers but does not say. */
export type Working = "yes" | "no" | "unknown";

/** After this long, `unknown` counts as lost. */
const UNKNOWN_MS = 600_000;

const LOOK_MS = 1_000;

/** A pause of this process counts as one check: its input is not read yet. */
const LONGEST_LOOK_MS = 2 * LOOK_MS;

type Watched = {
  readonly socket: Socket;
  readonly owed: ReturnType<typeof owedAnswers>;
  readonly rule: SilenceRule;
  received: number;
  /** Bytes received and sent at the last check. */
  moved: number;
  silentMs: number;
  /** Silence after which to ask the server (again); infinite while asking. */
  askAtMs: number;
};

const watched = new Set<Watched>();
let looking: NodeJS.Timeout | undefined;
let lookedMs = 0;

/** Destroys a connected, unused socket once it is silent. `isOwed`: an answer is pending. */
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
  // A slow consumer of copied rows pauses the socket.
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
      // Bytes may have come while asking: the next check sees them.
      const isLost = working === "no" || (working === "unknown" && one.silentMs >= UNKNOWN_MS);
      if (isLost && one.silentMs >= rule.afterMs) giveUp(one);
      else one.askAtMs = one.silentMs + rule.afterMs;
    });
};

const giveUp = ({ socket, silentMs }: Watched): void => {
  socket.destroy(new ServerSilentError(silentMs));
};

const ANSWER_MS = 10_000;

type Activity = { readonly own: number; readonly working: boolean | null };

/**
 * Asks the server over another connection whether it works for process `pid`: no, when the process
 * is gone, idle or waits for its client (whose bytes are lost).
 *
 * Unknown when the server admits no connection, or a pooler renumbers processes.
 *
 * @param url user and database
 * @param at host of the process
 * @throws when there is no answer
 */
export const isStillWorking = async (
  url: string,
  at: Target,
  pid: number | undefined,
): Promise<Working> => {
  const ask = async (client: Probe): Promise<Working> => {
    const rows = await client<Activity[]>`
      select pg_backend_pid() as own, (
        select state <> 'idle' and state not like 'idle in %' and wait_event_type is distinct from 'Client'
        from pg_stat_activity where pid = ${pid ?? null}::int4) as working`;
    const [found] = rows;
    if (found === undefined || found.own !== rows.state.pid) return "unknown";
    return found.working ? "yes" : "no";
  };
  try {
    return await askHost(url, at, ask, AbortSignal.timeout(ANSWER_MS));
  } catch (error) {
    if (error instanceof postgres.PostgresError) return "unknown";
    throw error;
  }
};
