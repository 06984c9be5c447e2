/**
 * Bounds bytes of answers that are not yet read, in total and per name. A rate limit would not do:
 * an office shares one address and loads a page all together, and one slow reader holds memory.
 */
import type { ServerResponse } from "node:http";
import { HttpError } from "./http-error.ts";

export type Unsent = {
  /**
   * Counts an answer's bytes for a name, such as a key's id, until they are sent or the connection
   * has closed. False, counting nothing, when there is no room or the caller is gone.
   */
  hold(name: string, bytes: number, response: ServerResponse): boolean;
  /** Held now, over all names. */
  readonly bytes: number;
};

type UnsentBounds = {
  readonly totalBytes: number;
  /** Per name, to leave room for others. */
  readonly nameBytes: number;
  readonly onFull?: (() => void) | undefined;
};

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
      // A name without unread bytes gets one answer of any size, or a large one could never be
      // sent.
      const fits = before === 0 || before + bytes <= nameBytes;
      if (!fits || (total > 0 && total + bytes > totalBytes)) {
        onFull?.();
        return false;
      }
      add(name, bytes);
      // Also fires after the last byte was sent.
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

/** For when `hold` finds no room. */
export const noRoomToSend = (): HttpError =>
  new HttpError(503, "too many unread responses; read them, then retry", {
    "retry-after": RETRY_AFTER,
  });
