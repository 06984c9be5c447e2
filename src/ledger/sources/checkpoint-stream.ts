import { followingAbort } from "../../waiting/following-abort.ts";
import { createWaker } from "../../waiting/waker.ts";
import type { WindowBounds } from "./fetch-ahead.ts";
import type { GrpcConnection } from "./grpc-connection.ts";

/** A checkpoint that a stream announced. */
export type Announced = {
  readonly sequence: bigint;
  /** Null when nothing more could be held, or the frame came without: it is to be fetched. */
  readonly bytes: Uint8Array | null;
};

/** A subscription to new checkpoints, read at the consumer's pace. Disposing ends it. */
export type CheckpointStream = Disposable & {
  /**
   * The next announcement; `"silent"` when none came within `waitMs`, `"ended"` when the node ended
   * the stream without an error or the signal aborted.
   * @throws the stream's error, after everything that came before it was taken
   */
  next(waitMs: number): Promise<Announced | "silent" | "ended">;
};

/**
 * Subscribes and holds what arrives, up to `bounds`.
 *
 * gRPC hands frames over as they come. When the consumer is slower, what no longer fits is let go and
 * only its number kept: fetching it again later costs less than memory without an end.
 */
export const openCheckpointStream = (
  connection: Pick<GrpcConnection, "subscribe">,
  bounds: WindowBounds,
  signal: AbortSignal,
): CheckpointStream => {
  const own = followingAbort(signal);
  const held: Announced[] = [];
  let heldBytes = 0;
  let end: { readonly error: unknown } | null = null;
  const news = createWaker();

  const hold = (announced: Announced) => {
    const newest = held.at(-1);
    const size = announced.bytes?.byteLength ?? 0;
    const fits =
      newest === undefined ||
      (newest.bytes !== null &&
        held.length < bounds.checkpoints &&
        heldBytes + size <= bounds.bytes);
    if (fits) {
      held.push(announced);
      heldBytes += size;
    } else {
      // One announcement without bytes stands for all that follow, until it was taken.
      if (newest.bytes === null) held.pop();
      held.push({ sequence: announced.sequence, bytes: null });
    }
    news.wake();
  };

  const finish = (error: unknown) => {
    end ??= { error };
    news.wake();
  };

  own.signal.addEventListener("abort", () => finish(undefined), { once: true });
  connection.subscribe(
    {
      frame: ({ cursor, checkpoint }) => {
        // Without its number a frame says nothing; a gap that it leaves is repaired later.
        if (cursor !== undefined) hold({ sequence: cursor, bytes: checkpoint ?? null });
      },
      ended: finish,
    },
    own.signal,
  );

  return {
    next: async (waitMs) => {
      if (held.length === 0 && end === null) await news.since(news.mark(), waitMs);
      const announced = held.shift();
      if (announced !== undefined) {
        heldBytes -= announced.bytes?.byteLength ?? 0;
        return announced;
      }
      if (end === null) return "silent";
      if (end.error === undefined) return "ended";
      throw end.error;
    },
    [Symbol.dispose]: () => own[Symbol.dispose](),
  };
};
