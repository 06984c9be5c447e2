/** Tracing to a collector that speaks OTLP over HTTP: loaded where one is configured. */
import {
  DiagLogLevel,
  diag,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  TraceFlags,
  trace,
} from "@opentelemetry/api";
import { OTLPTraceExporter } from "@opentelemetry/exporter-trace-otlp-http";
import { defaultResource, resourceFromAttributes } from "@opentelemetry/resources";
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  RandomIdGenerator,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { TraceIds } from "./trace-ids.ts";
import { type Tracing, tracingOver } from "./tracing.ts";
import { VERSION } from "./version.ts";

/** Spans that wait for the collector; further ones are dropped, so that a slow one costs no memory. */
const MOST_WAITING = 2_048;

/** Between two sendings, milliseconds. */
const SEND_EVERY_MS = 2_000;

/** How long one may take, and the last one when the process ends. */
const SEND_WITHIN_MS = 5_000;
const LAST_WITHIN_MS = 2_000;

/** Characters of an attribute: some quote what came from outside. */
const LONGEST_ATTRIBUTE = 500;

/** The clock of spans is told anew when it is off by more: in a process that runs for weeks, or one that slept. */
const MOST_DRIFT_MS = 50;

/** What makes `performance.now()` milliseconds since the Unix epoch, as the clock is now. */
const clockOrigin = (): number => {
  const origin = Date.now() - performance.now();
  return Math.abs(origin - performance.timeOrigin) > MOST_DRIFT_MS
    ? origin
    : performance.timeOrigin;
};

export type OtlpSettings = {
  /** Base of the collector, such as `http://localhost:4318`; traces go to `/v1/traces` below it. */
  readonly endpoint: string;
  /** `service.name` of this process. */
  readonly serviceName: string;
  /** Which of the processes it is, for `holderbook.process`. */
  readonly process: string;
  /** Told when spans could not be sent, by what the system calls it where it does (`ECONNREFUSED`). */
  readonly onTrouble: (code: string | undefined) => void;
};

/** Opens it; nothing is contacted yet. Headers come from `OTEL_EXPORTER_OTLP_HEADERS`. */
export const otlpTracing = ({
  endpoint,
  serviceName,
  process,
  onTrouble,
}: OtlpSettings): Tracing => {
  // Of its own words only the code: they may quote a URL, or a header with a key.
  const told = (...words: readonly unknown[]) => onTrouble(/\bE[A-Z]{4,}\b/.exec(`${words}`)?.[0]);
  const nothing = () => {};
  diag.setLogger(
    { error: told, warn: told, info: nothing, debug: nothing, verbose: nothing },
    DiagLogLevel.WARN,
  );
  // Of the root of a trace its ids are given; set for the one call that makes it.
  let given: TraceIds | undefined;
  const random = new RandomIdGenerator();
  const provider = new TracerProvider({
    sampler: new AlwaysOnSampler(),
    resource: defaultResource().merge(
      resourceFromAttributes({
        "service.name": serviceName,
        "service.version": VERSION,
        "holderbook.process": process,
      }),
    ),
    idGenerator: {
      generateTraceId: () => given?.traceId ?? random.generateTraceId(),
      generateSpanId: () => given?.rootId ?? random.generateSpanId(),
    },
    spanLimits: { attributeValueLengthLimit: LONGEST_ATTRIBUTE },
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: new OTLPTraceExporter({
          url: `${endpoint.replace(/\/+$/, "")}/v1/traces`,
          timeoutMillis: SEND_WITHIN_MS,
        }),
        maxQueueSize: MOST_WAITING,
        scheduledDelayMillis: SEND_EVERY_MS,
      }),
    ],
  });
  const tracer = provider.getTracer("holderbook", VERSION);
  return tracingOver({
    tell: ({ trace: ids, name, isRoot = false, beganMs, endedMs, attributes = {}, error }) => {
      const context = isRoot
        ? ROOT_CONTEXT
        : trace.setSpanContext(ROOT_CONTEXT, {
            traceId: ids.traceId,
            spanId: ids.rootId,
            traceFlags: TraceFlags.SAMPLED,
            isRemote: true,
          });
      given = isRoot ? ids : undefined;
      const origin = clockOrigin();
      const startTime = origin + beganMs;
      const kind = isRoot ? SpanKind.SERVER : SpanKind.INTERNAL;
      const span = tracer.startSpan(name, { startTime, kind, attributes }, context);
      given = undefined;
      if (error !== undefined) {
        const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
        span.setStatus({
          code: SpanStatusCode.ERROR,
          message: message.slice(0, LONGEST_ATTRIBUTE),
        });
      }
      span.end(origin + (endedMs ?? performance.now()));
    },
    [Symbol.asyncDispose]: async () => {
      // A collector that is gone must not keep a process from ending.
      const late = new Promise((resolve) => setTimeout(resolve, LAST_WITHIN_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  });
};
