/**
 * Traces of one unit of work through all processes.
 *
 * Trace ids derive from the subject, so processes need not exchange them, and a
 * request resumed after a crash continues its trace. Spans are reported when they end. Without a
 * collector OpenTelemetry is not loaded.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { createHash } from "node:crypto";

/** A trace and its root span, as in W3C Trace Context. */
export type TraceIds = {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits. */
  readonly rootId: string;
};

/** Trace of a transfer-agent request, from acceptance to callback. */
export const requestTrace = (requestId: string): TraceIds => idsOf(`request ${requestId}`);

/** Trace of a batch, from source to rows, by the digest of its last checkpoint. */
export const batchTrace = (digest: string): TraceIds => idsOf(`checkpoint ${digest}`);

const idsOf = (subject: string): TraceIds => {
  const hash = createHash("sha256").update(`holderbook ${subject}`).digest("hex");
  return { traceId: hash.slice(0, 32), rootId: hash.slice(32, 48) };
};

/** Numbers and words; amounts and ids as text. No personal data, no secrets. */
type Attributes = Readonly<Record<string, string | number | boolean>>;

export type Span = {
  readonly trace: TraceIds;
  /** Low cardinality; what varies goes into attributes. */
  readonly name: string;
  /** One per trace, the parent of all others. */
  readonly isRoot?: boolean;
  /** `performance.now()` at the start. */
  readonly beganMs: number;
  /** `performance.now()` at the end; now by default. */
  readonly endedMs?: number;
  readonly attributes?: Attributes;
  /** Cause of a failure. */
  readonly error?: unknown;
};

/** Disposing flushes pending spans, within a short timeout. */
export type Tracing = AsyncDisposable & {
  /** False without a collector: callers may skip describing spans. */
  readonly isOn: boolean;
  report(span: Span): void;
  /** Runs `work` with the trace's id on its log lines. */
  within<Result>(trace: TraceIds, work: () => Result): Result;
  /** Current trace id, for log lines. */
  readonly traceId: string | undefined;
};

export const NO_TRACING: Tracing = {
  isOn: false,
  report: () => {},
  within: (_trace, work) => work(),
  traceId: undefined,
  [Symbol.asyncDispose]: async () => {},
};

/** Creates tracing over a collector of spans. */
export const tracingOver = (collector: AsyncDisposable & Pick<Tracing, "report">): Tracing => {
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

/** Runs `work` as a span, which fails if it throws. */
export const traced = async <Result>(
  tracing: Tracing,
  span: Omit<Span, "beganMs" | "error">,
  work: () => Promise<Result>,
): Promise<Result> => {
  if (!tracing.isOn) return work();
  const beganMs = performance.now();
  try {
    const result = await tracing.within(span.trace, work);
    tracing.report({ ...span, beganMs });
    return result;
  } catch (error) {
    tracing.report({ ...span, beganMs, error });
    throw error;
  }
};
