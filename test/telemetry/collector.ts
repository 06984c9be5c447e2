/** A collector of OpenTelemetry: takes traces as OTLP over HTTP, in JSON, and keeps their spans. */
import { once } from "node:events";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";

const value = z.object({
  stringValue: z.string().optional(),
  intValue: z.union([z.string(), z.number()]).optional(),
  doubleValue: z.number().optional(),
  boolValue: z.boolean().optional(),
});

const attributes = z
  .array(z.object({ key: z.string(), value }))
  .transform((pairs) =>
    Object.fromEntries(
      pairs.map(({ key, value: { stringValue, intValue, doubleValue, boolValue } }) => [
        key,
        stringValue ?? intValue ?? doubleValue ?? boolValue,
      ]),
    ),
  );

const sent = z.object({
  resourceSpans: z.array(
    z.object({
      resource: z.object({ attributes }),
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              startTimeUnixNano: z.string().transform(BigInt),
              endTimeUnixNano: z.string().transform(BigInt),
              attributes,
              status: z.object({ code: z.number().optional(), message: z.string().optional() }),
            }),
          ),
        }),
      ),
    }),
  ),
});

export type Received = z.infer<
  typeof sent
>["resourceSpans"][number]["scopeSpans"][number]["spans"][number] & {
  /** Of the process that sent it. */
  readonly resource: Readonly<Record<string, unknown>>;
};

export type Collector = AsyncDisposable & {
  readonly endpoint: string;
  readonly spans: readonly Received[];
  /** Paths and content types that came. */
  readonly asked: ReadonlySet<string>;
};

/** Starts one on a port of its own. */
export const startCollector = async (): Promise<Collector> => {
  const spans: Received[] = [];
  const asked = new Set<string>();
  const server = createServer(async (request, response) => {
    asked.add(`${request.method} ${request.url} ${request.headers["content-type"]}`);
    for (const { resource, scopeSpans } of sent.parse(JSON.parse(await text(request)))
      .resourceSpans) {
      for (const span of scopeSpans.flatMap((scope) => scope.spans)) {
        spans.push({ ...span, resource: resource.attributes });
      }
    }
    response.setHeader("content-type", "application/json").end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    endpoint: `http://127.0.0.1:${port}`,
    spans,
    asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
