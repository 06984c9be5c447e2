/**
 * Runs a connection's requests one at a time. node:http hands over every pipelined request as soon
 * as it has read it: a caller could start a thousand and hang up.
 *
 * States of a connection:
 *
 * - `idle`: no request. A request arrives: `answering`.
 * - `answering`: one request is answered, others wait. It ends: `queued` if others wait, else
 *   `idle`.
 * - `queued`: waits for its turn among other connections, then `answering`; `idle` if it is gone.
 * - `cut`: too many requests waited. Final: the connection is destroyed in its turn.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

const MOST_WAITING = 16;

/** Waiting requests begun per turn of the event loop, before new ones. */
const BEGUN_PER_TURN = 8;

export type Turns = {
  /** For the server's event `request`. */
  readonly listener: RequestListener;
  /** Ends each connection after its current answer. */
  end(): void;
};

type TurnSettings = {
  readonly handle: RequestListener;
  readonly mostWaiting?: number;
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

type Line = { state: State; readonly waiting: Exchange[] };

const become = (line: Line, state: State): void => {
  if (!NEXT[line.state].includes(state)) {
    throw new Error(`a connection cannot become ${state} while it is ${line.state}`);
  }
  line.state = state;
};

/** Cuts a connection on which too many requests wait; requests of a closed one are never begun. */
export const inTurn = (settings: TurnSettings): Turns => {
  const { handle, mostWaiting = MOST_WAITING, onCrowd } = settings;
  const lines = new WeakMap<Socket, Line>();
  const underWay = new Set<ServerResponse>();
  let ending = false;

  /** Sets `Connection: close`, or a pool would reuse the connection. */
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

  /** Requires the state `answering`. */
  const answer = (socket: Socket, line: Line, [request, response]: Exchange): void => {
    underWay.add(response);
    // Fires after the last byte, or when the connection closes before it.
    response.once("close", () => {
      underWay.delete(response);
      if (socket.destroyed) line.waiting.length = 0;
      if (line.state !== "cut") become(line, line.waiting.length > 0 ? "queued" : "idle");
      if (line.state === "queued") continueLater(socket, line);
      else if (ending) socket.end();
    });
    // Waiting requests are answered, too.
    if (ending && line.waiting.length === 0) asTheLast(response);
    handle(request, response);
  };

  // Waiting requests run after new ones of other connections, a few at a time, so that many of them
  // do not delay new ones.
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
        // Costly, so one per turn: node:http aborts each unanswered request.
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
      // Requests parsed before the connection was closed.
      if (line.state === "cut" || socket.destroyed) return;
      if (line.state === "idle") {
        become(line, "answering");
        // Begin after the whole batch was parsed, so that a connection with too many begins none.
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
