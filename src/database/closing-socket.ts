/**
 * Tells the driver of a closed connection at a moment when it has nothing left to send.
 *
 * postgres.js (3.4.9) sends small messages at the end of a turn. If its connection closes before that, the messages
 * stay, and are never sent on the next connection, nor is its greeting: statements given to it wait for
 * `connect_timeout` one after the other. And a statement given to it between a socket's `error` and `close`, such as one
 * that is repeated at once, is never answered. (Its issue 1208 and pull request 1209 are about the same window.)
 */
import type { Socket } from "node:net";

/** Holds back `error` and `close` of a connected, unused socket until what was written in the turn is sent. */
export const closeAfterWrites = (socket: Socket): void => {
  const emit = socket.emit.bind(socket);
  let error: unknown;
  socket.emit = (event: string | symbol, ...values: unknown[]) => {
    if (event === "error") {
      error ??= values[0];
      return true;
    }
    if (event !== "close") return emit(event, ...values);
    setImmediate(() => {
      if (error !== undefined) emit("error", error);
      emit("close", error !== undefined);
    });
    return true;
  };
};
