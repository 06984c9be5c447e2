/**
 * The requests of a connection, one after the other. node:http sends answers in order, but hands over every request as
 * soon as it has read it: a caller could have a thousand worked on, and hang up. Here the next request begins when the
 * one before has been answered.
 *
 * States of a connection:
 *
 * - `idle`: nothing to answer. A request comes: `answering`.
 * - `answering`: one request is being answered, others wait. The answer ends: `queued` if others wait, else `idle`.
 * - `queued`: requests wait, and the connection waits for its turn among others. Its turn comes: `answering`, or
 *   `idle` if the connection is gone.
 * - `cut`: more requests came than may wait. Final: the connection is destroyed in its turn, and nothing more begins.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of a connection that wait behind the one being answered. */
const MOST_WAITING = 16;

/** Waiting requests that are begun before new ones get a turn. */
const BEGUN_PER_TURN = 8;

export type Turns = {
  /** For the server's event `request`. */
  readonly listener: RequestListener;
  /** Ends each connection with its answer under way. */
  end(): void;
};

export type TurnSettings = {
  /** Begins to answer a request. */
  readonly handle: RequestListener;
  readonly mostWaiting?: number;
  /** Called when a connection is closed because too many requests wait on it. */
  readonly onCrowd?: (socket: Socket) => void;
};

type Exchange = readonly [IncomingMessage, ServerResponse];

type State = "idle" | "answering" | "queued" | "cut";

const NEXT: Readonly<Record<State, readonly State[]>> = {
  idle: ["answering"],
  answering: ["idle", "queued", "cut"],
  queued: ["answering", "idle", "cut"],
  cut: [],
};

/** What is known of a connection. */
type Line = { state: State; readonly waiting: Exchange[] };

const become = (line: Line, state: State): void => {
  if (!NEXT[line.state].includes(state)) {
    throw new Error(`a connection cannot become ${state} while it is ${line.state}`);
  }
  line.state = state;
};

/**
 * A connection with more requests waiting than may is closed. What waits on a connection that is gone is
 * dropped and never begun.
 */
export const inTurn = (settings: TurnSettings): Turns => {
  const { handle, mostWaiting = MOST_WAITING, onCrowd } = settings;
  const lines = new WeakMap<Socket, Line>();
  const underWay = new Set<ServerResponse>();
  let ending = false;

  /** Says in the answer that it is the connection's last: a pool would reuse the connection. */
  const asTheLast = (response: ServerResponse): void => {
    if (!response.headersSent) response.shouldKeepAlive = false;
  };

  const lineOf = (socket: Socket): Line => {
    const known = lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { state: "idle", waiting: [] };
    lines.set(socket, line);
    return line;
  };

  /** The line is `answering`. */
  const answer = (socket: Socket, line: Line, [request, response]: Exchange): void => {
    underWay.add(response);
    // After the last byte, and also when the connection is gone before that.
    response.once("close", () => {
      underWay.delete(response);
      if (socket.destroyed) line.waiting.length = 0;
      if (line.state !== "cut") become(line, line.waiting.length > 0 ? "queued" : "idle");
      if (line.state === "queued") continueLater(socket, line);
      else if (ending) socket.end();
    });
    // What waits behind it is answered, too.
    if (ending && line.waiting.length === 0) asTheLast(response);
    handle(request, response);
  };

  // Requests that waited come after new ones of other connections, a few at a time, so that many connections with
  // many waiting do not delay new ones.
  const behind: (readonly [Socket, Line])[] = [];
  const continueLater = (socket: Socket, line: Line): void => {
    if (behind.length === 0) setImmediate(continueSome);
    behind.push([socket, line]);
  };
  const continueSome = (): void => {
    for (let begun = 0; begun < BEGUN_PER_TURN; begun += 1) {
      const [socket, line] = behind.shift() ?? [];
      if (socket === undefined || line === undefined) break;
      if (line.state === "cut") {
        socket.destroy();
        // Expensive: node:http aborts each request that was read and not answered.
        break;
      }
      const next = socket.destroyed ? undefined : line.waiting.shift();
      become(line, next === undefined ? "idle" : "answering");
      if (next !== undefined) answer(socket, line, next);
    }
    if (behind.length > 0) setImmediate(continueSome);
  };

  return {
    listener: (request, response) => {
      const { socket } = request;
      const line = lineOf(socket);
      // The rest of what had been read when it was closed.
      if (line.state === "cut" || socket.destroyed) return;
      if (line.state === "idle") {
        become(line, "answering");
        // After everything that came with it was read: a connection with too much is closed before any begins.
        queueMicrotask(() => line.state === "cut" || answer(socket, line, [request, response]));
        return;
      }
      if (line.waiting.length < mostWaiting) {
        line.waiting.push([request, response]);
        return;
      }
      line.waiting.length = 0;
      become(line, "cut");
      socket.pause();
      continueLater(socket, line);
      onCrowd?.(socket);
    },
    end: () => {
      ending = true;
      for (const response of underWay) {
        const waiting = response.socket === null ? 0 : lineOf(response.socket).waiting.length;
        if (waiting === 0) asTheLast(response);
      }
    },
  };
};
