import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** A request as the receiver got it. */
export type Received = {
  readonly id: string;
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** `performance.now()` when it was complete. */
  readonly atMs: number;
  /** Status that was answered; undefined while there is none. */
  answered: number | undefined;
};

/** A status, or whatever the function does with the response itself. */
export type Answer = number | ((response: ServerResponse) => void);

export type Receiver = AsyncDisposable & {
  readonly url: string;
  readonly port: number;
  /** Everything received, in order. */
  readonly received: readonly Received[];
  /** Ids that were answered 2xx, in order. */
  accepted(): readonly string[];
  close(): Promise<void>;
};

/**
 * A real receiver on loopback. `answer` decides by request and by how often its id has come before;
 * without it everything is accepted.
 */
export const startReceiver = async (
  answer: (request: Received, before: number) => Answer | Promise<Answer> = () => 204,
  port = 0,
): Promise<Receiver> => {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      // The sender went away in the middle: nothing was received.
      return;
    }
    const id = String(request.headers["webhook-id"]);
    const before = received.filter((earlier) => earlier.id === id).length;
    const entry: Received = {
      id,
      method: request.method,
      path: request.url,
      headers: request.headers,
      body: Buffer.concat(chunks).toString(),
      atMs: performance.now(),
      answered: undefined,
    };
    received.push(entry);
    const decided = await answer(entry, before);
    if (typeof decided === "function") return decided(response);
    entry.answered = decided;
    response.writeHead(decided).end();
  });
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  const { port: bound } = server.address() as AddressInfo;
  const close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return {
    url: `http://127.0.0.1:${bound}/hook`,
    port: bound,
    received,
    accepted: () =>
      received.filter(({ answered = 0 }) => answered >= 200 && answered < 300).map(({ id }) => id),
    close,
    [Symbol.asyncDispose]: close,
  };
};
