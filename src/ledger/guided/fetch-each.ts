/** Fetches checkpoints that are far apart, several at once. */
import { followingAbort } from "../../waiting/following-abort.ts";
import type { RawCheckpoint } from "../decode/checkpoint.ts";
import { CheckpointOutOfOrderError, SourceEndedError } from "../reading/pass.ts";
import type { CheckpointSource } from "../sources/source.ts";

/**
 * @param graceMs how long an announced checkpoint may be missing; the source's own by default
 * @throws errors of the source; SourceEndedError, CheckpointOutOfOrderError (retry)
 */
export const fetchOne = async (
  source: CheckpointSource,
  sequence: bigint,
  signal: AbortSignal,
  graceMs?: number,
): Promise<RawCheckpoint> => {
  const range = { first: sequence, last: sequence, gaps: true, graceMs };
  for await (const raw of source.checkpoints(range, signal)) {
    if (raw.sequence === sequence) return raw;
    throw new CheckpointOutOfOrderError(source.description, sequence, raw.sequence);
  }
  signal.throwIfAborted();
  throw new SourceEndedError(source.description, sequence);
};

type Settled<T> = { readonly fetched: T } | { readonly error: unknown };

/** Numbers of checkpoints, listed while the first of them are fetched. */
export type Listed = (signal: AbortSignal) => AsyncIterable<bigint> | Iterable<bigint>;

/**
 * Fetches every number, in the order given, at most `most` at once and in memory.
 * @throws the first error of the list or the fetches, after everything before it
 */
export async function* fetchEach<T>(
  fetch: (sequence: bigint, signal: AbortSignal) => Promise<T>,
  list: Listed,
  most: number,
  signal: AbortSignal,
): AsyncGenerator<T> {
  using own = followingAbort(signal);
  const numbers = toAsync(list(own.signal));
  const started: Promise<Settled<T>>[] = [];
  const start = (sequence: bigint) =>
    started.push(
      fetch(sequence, own.signal).then(
        (fetched) => ({ fetched }),
        (error: unknown) => ({ error }),
      ),
    );
  let next: Promise<IteratorResult<bigint>> | null = settledLater(numbers.next());
  try {
    for (;;) {
      // Lists may be slower than fetching: hand over what is there meanwhile.
      while (next !== null && started.length < most) {
        const [head] = started;
        const listed: IteratorResult<bigint> | null = await (head === undefined
          ? next
          : Promise.race([next, head.then(() => null)]));
        if (listed === null) break;
        if (listed.done) next = null;
        else {
          start(listed.value);
          next = settledLater(numbers.next());
        }
      }
      const head = started.shift();
      if (head === undefined) return;
      const settled = await head;
      if ("error" in settled) throw settled.error;
      yield settled.fetched;
    }
  } finally {
    own.abort();
    await numbers.return?.();
  }
}

/** An error surfaces on use; meanwhile it must not count as unhandled. */
const settledLater = <T>(promise: Promise<T>): Promise<T> => {
  promise.catch(() => undefined);
  return promise;
};

const toAsync = (
  sequences: AsyncIterable<bigint> | Iterable<bigint>,
): AsyncIterator<bigint, unknown> =>
  (async function* () {
    yield* sequences;
  })();
