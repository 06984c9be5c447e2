/** OTLP tracing over HTTP; loaded only when configured. */
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
import { type TraceIds, type Tracing, tracingOver } from "./tracing.ts";
import { VERSION } from "./version.ts";

/** Spans queued for the collector; more are dropped. */
const MOST_WAITING = 2_048;

const SEND_EVERY_MS = 2_000;

/** Timeouts of an export, and of the last one at shutdown. */
const SEND_WITHIN_MS = 5_000;
const LAST_WITHIN_MS = 2_000;

/** Attributes may quote foreign text. */
const LONGEST_ATTRIBUTE = 500;

/** Clock drift after which span times use a new origin: long uptime, or a machine that slept. */
const MOST_DRIFT_MS = 50;

/** Unix time of `performance.now()` 0, by the current clock. */
const clockOrigin = (): number => {
  const origin = Date.now() - performance.now();
  return Math.abs(origin - performance.timeOrigin) > MOST_DRIFT_MS
    ? origin
    : performance.timeOrigin;
};

type OtlpSettings = {
  /** Base URL of the collector, such as `http://localhost:4318`; `/v1/traces` is appended. */
  readonly endpoint: string;
  readonly serviceName: string;
  /** Value of `holderbook.process`. */
  readonly process: string;
  /** Called with the system's error code, if any (`ECONNREFUSED`), when spans could not be sent. */
  readonly onTrouble: (code: string | undefined) => void;
};

/** Connects to nothing yet. Headers come from `OTEL_EXPORTER_OTLP_HEADERS`. */
export const otlpTracing = ({
  endpoint,
  serviceName,
  process,
  onTrouble,
}: OtlpSettings): Tracing => {
  // Pass on the error code only: the text may quote a URL or a header with a key.
  const report = (...words: readonly unknown[]) =>
    onTrouble(/\bE[A-Z]{4,}\b/.exec(`${words}`)?.[0]);
  const nothing = () => {};
  diag.setLogger(
    { error: report, warn: report, info: nothing, debug: nothing, verbose: nothing },
    DiagLogLevel.WARN,
  );
  // Ids for the next root span, during the call that creates it.
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
    report: ({ trace: ids, name, isRoot = false, beganMs, endedMs, attributes = {}, error }) => {
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
      // An unreachable collector must not block shutdown.
      const late = new Promise((resolve) => setTimeout(resolve, LAST_WITHIN_MS).unref());
      await Promise.race([provider.shutdown().catch(() => undefined), late]);
    },
  });
};
