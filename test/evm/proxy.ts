/** A JSON-RPC proxy between the reader and a chain that limits, breaks or falsifies answers. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

export type Call = { readonly method: string; readonly params: readonly unknown[] };

/** An answer that is no result: a JSON-RPC error. */
export class Refusal {
  readonly code: number;
  readonly message: string;

  constructor(code: number, message: string) {
    this.code = code;
    this.message = message;
  }
}

export type ProxySettings = {
  /** Replaces the result of a call; a `Refusal` becomes its error. */
  readonly answer?: (call: Call, result: unknown) => unknown;
  /**
   * Answers the whole HTTP request instead of the chain, or leaves it unanswered, or closes the connection;
   * undefined lets it pass.
   */
  readonly http?: (
    calls: readonly Call[],
  ) =>
    | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: string }
    | "never"
    | "cut"
    | undefined;
};

export type Proxy = AsyncDisposable & {
  readonly url: string;
  /** Every call that came in, in order. */
  readonly calls: Call[];
  /** How many calls came in each HTTP request. */
  readonly batches: number[];
};

type Message = Call & { readonly id: number };
type Reply = { id: number; result?: unknown; error?: unknown };

/** Listens on a free loopback port in front of the chain at `target`, which may change. */
export const startProxy = async (
  target: string | (() => string),
  { answer = (_, result) => result, http }: ProxySettings = {},
): Promise<Proxy> => {
  const calls: Call[] = [];
  const batches: number[] = [];

  const pass = async (request: IncomingMessage, response: ServerResponse) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    const body: Message | Message[] = JSON.parse(text);
    const messages = Array.isArray(body) ? body : [body];
    calls.push(...messages);
    batches.push(messages.length);
    const instead = http?.(messages);
    if (instead === "never") return;
    if (instead === "cut") {
      response.destroy();
      return;
    }
    if (instead !== undefined) {
      response.writeHead(instead.status, instead.headers).end(instead.body);
      return;
    }
    const forwarded = await fetch(typeof target === "string" ? target : target(), {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: text,
    });
    const reply: Reply | Reply[] = JSON.parse(await forwarded.text());
    const replies = (Array.isArray(reply) ? reply : [reply]).map((each) => {
      const call = messages.find(({ id }) => id === each.id);
      if (call === undefined || !("result" in each)) return each;
      const result = answer(call, structuredClone(each.result));
      return result instanceof Refusal
        ? { jsonrpc: "2.0", id: each.id, error: { code: result.code, message: result.message } }
        : { ...each, result };
    });
    response
      .writeHead(200, { "content-type": "application/json" })
      .end(JSON.stringify(Array.isArray(reply) ? replies : replies[0]));
  };
  // The chain may be stopped while it is asked: the caller then finds the connection closed.
  const server = createServer((request, response) => {
    pass(request, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    calls,
    batches,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
};
