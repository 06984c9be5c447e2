/**
 * Traces, where somebody collects them: how one thing went through the processes, span by span.
 *
 * A trace's ids follow from what it is about (`trace-ids.ts`), so that processes need not hand them to each
 * other, and a request that is taken up again after a crash goes on in its trace. Spans are told when they
 * have ended. Without a collector nothing of OpenTelemetry is loaded, and telling costs a call.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import type { TraceIds } from "./trace-ids.ts";

/** Numbers and words; amounts and ids as text. Nothing personal, and no secret. */
export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** A span of time in a trace. */
export type Span = {
  readonly trace: TraceIds;
  /** Of few kinds: what differs goes into attributes. */
  readonly name: string;
  /** The span that all others of the trace stand below: one for each trace. */
  readonly isRoot?: boolean;
  /** When it began, `performance.now()`. */
  readonly beganMs: number;
  /** When it ended; now unless given. */
  readonly endedMs?: number;
  readonly attributes?: Attributes;
  /** Why it failed; absent when it did not. */
  readonly error?: unknown;
};

/** Disposing of it sends what was told, for a moment. */
export type Tracing = AsyncDisposable & {
  /** Whether anybody collects: spans that take work to describe need not be told otherwise. */
  readonly isOn: boolean;
  tell(span: Span): void;
  /** Does something whose log lines carry the trace's id. */
  within<Result>(trace: TraceIds, work: () => Result): Result;
  /** The trace that this code works in, for log lines. */
  readonly traceId: string | undefined;
};

/** Nobody collects. */
export const NO_TRACING: Tracing = {
  isOn: false,
  tell: () => {},
  within: (_trace, work) => work(),
  traceId: undefined,
  [Symbol.asyncDispose]: async () => {},
};

/** Tracing over something that takes spans. */
export const tracingOver = (collector: AsyncDisposable & Pick<Tracing, "tell">): Tracing => {
  const current = new AsyncLocalStorage<string>();
  return {
    isOn: true,
    ...collector,
    within: ({ traceId }, work) => current.run(traceId, work),
    get traceId() {
      return current.getStore();
    },
  };
};

/** Does something as a span of a trace; what it throws makes the span a failed one. */
export const traced = async <Result>(
  tracing: Tracing,
  span: Omit<Span, "beganMs" | "error">,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (!tracing.isOn) return work();
  const beganMs = performance.now();
  try {
    const result = await tracing.within(span.trace, work);
    tracing.tell({ ...span, beganMs });
    return result;
  } catch (error) {
    tracing.tell({ ...span, beganMs, error });
    throw error;
  }
};
