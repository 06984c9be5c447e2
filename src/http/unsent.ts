/**
 * Bounds the bytes of answers that connections have not yet taken, in total and per name. A rate limit would not do:
 * an office shares one address and loads a page at once, and one slow reader holds memory.
 */
import type { ServerResponse } from "node:http";
import { HttpError } from "./http-error.ts";

export type Unsent = {
  /**
   * Counts an answer's bytes for a name, such as a key's id, until they were taken or the connection is
   * gone. False, and nothing counted, when there is no room, or the caller is gone.
   */
  hold(name: string, bytes: number, response: ServerResponse): boolean;
  /** Held now, of all names. */
  readonly bytes: number;
};

export type UnsentBounds = {
  readonly totalBytes: number;
  /** Of one name, so that it leaves some for others. */
  readonly nameBytes: number;
  /** Called for each answer that was refused; optional. */
  readonly onFull?: (() => void) | undefined;
};

/** An account of this process, or of one kind of its answers. */
export const createUnsent = ({ totalBytes, nameBytes, onFull }: UnsentBounds): Unsent => {
  const held = new Map<string, number>();
  let total = 0;
  const add = (name: string, bytes: number) => {
    total += bytes;
    const now = (held.get(name) ?? 0) + bytes;
    if (now > 0) held.set(name, now);
    else held.delete(name);
  };
  return {
    hold(name, bytes, response) {
      if (response.closed || response.destroyed || response.writableFinished) return false;
      const before = held.get(name) ?? 0;
      // A name without unread bytes gets one answer of any size: otherwise a large one would never be sent.
      const fits = before === 0 || before + bytes <= nameBytes;
      if (!fits || (total > 0 && total + bytes > totalBytes)) {
        onFull?.();
        return false;
      }
      add(name, bytes);
      // Also after the last byte, when the system has taken it.
      response.once("close", () => add(name, -bytes));
      return true;
    },
    get bytes() {
      return total;
    },
  };
};

/** Seconds. */
const RETRY_AFTER = "2";

/** The answer when `hold` finds no room. */
export const noRoomToSend = (): HttpError =>
  new HttpError(503, "too many unread responses; read them, then retry", {
    "retry-after": RETRY_AFTER,
  });
