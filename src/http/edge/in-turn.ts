/**
 * The requests of a connection, one after the other. node:http sends answers in their order, but hands
 * over every request as soon as it has read it: a caller who sends a thousand at once would have a thousand
 * worked on, and hang up. Here the next one is begun when the one before has been answered.
 */
import type { IncomingMessage, RequestListener, ServerResponse } from "node:http";
import type { Socket } from "node:net";

/** Requests of a connection that wait behind the one being answered. */
const MOST_WAITING = 16;

/** Of those that waited, so many are begun before others are looked at again. */
const BEGUN_AT_ONCE = 8;

export type Turns = {
  /** For the server's event `request`. */
  readonly listener: RequestListener;
  /** From now on a connection ends with the answer under way. */
  end(): void;
};

export type TurnSettings = {
  /** Begins to answer a request. */
  readonly handle: RequestListener;
  readonly mostWaiting?: number;
  /** Told when a connection is closed because more requests wait on it than may. */
  readonly onCrowd?: (socket: Socket) => void;
};

type Waiting = readonly [IncomingMessage, ServerResponse];

/** What is known of a connection. */
type Line = {
  answering: boolean;
  /** It is to be closed: too many waited. */
  isCut: boolean;
  readonly waiting: Waiting[];
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

  /** Tells the caller that the connection ends with this answer: a pool would use it for its next one. */
  const asTheLast = (response: ServerResponse): void => {
    if (!response.headersSent) response.shouldKeepAlive = false;
  };

  const lineOf = (socket: Socket): Line => {
    const known = lines.get(socket);
    if (known !== undefined) return known;
    const line: Line = { answering: false, isCut: false, waiting: [] };
    lines.set(socket, line);
    return line;
  };

  const answer = (socket: Socket, line: Line, [request, response]: Waiting): void => {
    line.answering = true;
    underWay.add(response);
    // After the last byte, and also when the connection is gone before that.
    response.once("close", () => {
      underWay.delete(response);
      if (socket.destroyed) line.waiting.length = 0;
      line.answering = line.waiting.length > 0;
      if (line.answering && !line.isCut) goOnLater(socket, line);
      else if (ending) socket.end();
    });
    // What waits behind it is answered, too.
    if (ending && line.waiting.length === 0) asTheLast(response);
    handle(request, response);
  };

  // Requests that waited come after whatever others have brought meanwhile, a few at a time: many
  // connections with many waiting do not hold up new ones.
  const behind: (readonly [Socket, Line])[] = [];
  const goOnLater = (socket: Socket, line: Line): void => {
    if (behind.length === 0) setImmediate(goOn);
    behind.push([socket, line]);
  };
  const goOn = (): void => {
    for (let begun = 0; begun < BEGUN_AT_ONCE; begun += 1) {
      const [socket, line] = behind.shift() ?? [];
      if (socket === undefined || line === undefined) break;
      if (line.isCut) {
        socket.destroy();
        // The dearest of all: each request that was read and not answered is told of it.
        break;
      }
      const next = socket.destroyed ? undefined : line.waiting.shift();
      if (next !== undefined) answer(socket, line, next);
    }
    if (behind.length > 0) setImmediate(goOn);
  };

  return {
    listener: (request, response) => {
      const { socket } = request;
      const line = lineOf(socket);
      // The rest of what had been read when it was closed.
      if (line.isCut || socket.destroyed) return;
      if (!line.answering) {
        line.answering = true;
        // After all that came with it was read: a connection with too much is closed with none begun.
        queueMicrotask(() => line.isCut || answer(socket, line, [request, response]));
        return;
      }
      if (line.waiting.length < mostWaiting) {
        line.waiting.push([request, response]);
        return;
      }
      line.waiting.length = 0;
      line.isCut = true;
      socket.pause();
      goOnLater(socket, line);
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
