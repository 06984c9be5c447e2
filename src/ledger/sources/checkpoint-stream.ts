import { followingAbort } from "../../waiting/following-abort.ts";
import { createWaker } from "../../waiting/waker.ts";
import type { WindowBounds } from "./fetch-ahead.ts";
import type { GrpcConnection } from "./grpc-connection.ts";

export type Announced = {
  readonly sequence: bigint;
  /** Null when the buffer was full or the frame had no bytes: fetch it. */
  readonly bytes: Uint8Array | null;
};

/** A subscription to new checkpoints with a bounded buffer. Disposing ends it. */
type CheckpointStream = Disposable & {
  /**
   * The next announcement; `"silent"` after `waitMs`, `"ended"` after a regular end or abort.
   * @throws the stream's error, after all earlier announcements
   */
  next(waitMs: number): Promise<Announced | "silent" | "ended">;
};

/**
 * Subscribes and buffers up to `bounds`.
 *
 * gRPC pushes frames. When the consumer is slower, bytes that do not fit are dropped and fetched
 * later.
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
      // The last announcement without bytes stands for all dropped ones.
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
        // A frame without number is ignored; the gap is fetched later.
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
