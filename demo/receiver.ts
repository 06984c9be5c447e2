/** Receiver of the demo's callbacks: verifies, answers and lists them. */
import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { verifyCallback } from "../client/index.ts";

type DemoCallback = {
  readonly id: string;
  readonly receivedAt: string;
  readonly body: unknown;
};

type DemoReceiver = AsyncDisposable & {
  /**
   * POST delivers callbacks; GET lists the newest first. GET of `url/<request id>` returns the
   * newest callback about a transfer-agent request, waiting up to 30 s, or 404.
   */
  readonly url: string;
};

const PATH = "/callbacks";
const KEPT = 100;
const WAITED_FOR_MS = 30_000;
const LONGEST_BODY = 1024 * 1024;

/** Port in the URL of such a receiver; undefined for other URLs. */
export const demoReceiverPort = (url: string): number | undefined => {
  const { href, port } = new URL(url);
  return href === urlAt(Number(port)) ? Number(port) : undefined;
};

const urlAt = (port: number): string => `http://127.0.0.1:${port}${PATH}`;

/** Starts it on loopback. */
export const startDemoReceiver = async (settings: {
  /** Preferred port; any free one if taken or absent. */
  readonly port?: number | undefined;
  /** Base64 public keys currently valid for callbacks. */
  readonly publicKeys: () => Promise<readonly string[]>;
  readonly onReceived: (callback: DemoCallback) => void;
}): Promise<DemoReceiver> => {
  const received: DemoCallback[] = [];
  const arrivals = new EventEmitter().setMaxListeners(0);
  const about = (requestId: string) =>
    received.find(({ body }) => isAbout(body) && body.requestId === requestId);

  const show = async (path: string, response: ServerResponse): Promise<void> => {
    const requestId = path.slice(PATH.length + 1);
    const deadline = AbortSignal.timeout(WAITED_FOR_MS);
    const closed = new AbortController();
    response.once("close", () => closed.abort());
    const given = AbortSignal.any([deadline, closed.signal]);
    while (requestId !== "" && about(requestId) === undefined && !given.aborted) {
      await once(arrivals, "one", { signal: given }).catch(() => undefined);
    }
    const found = requestId === "" ? received : about(requestId);
    const answer = found ?? { error: `no callback about ${requestId} within 30 s` };
    response.writeHead(found === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(`${JSON.stringify(answer, null, 2)}\n`);
  };

  /** @throws when invalid */
  const take = async (request: IncomingMessage): Promise<void> => {
    const body = await bodyOf(request);
    const { headers } = request;
    const publicKeys = await settings.publicKeys();
    const verified = verifyCallback({ headers, body, publicKeys });
    const { id } = verified;
    const callback = { id, receivedAt: new Date().toISOString(), body: verified.json() };
    // Deliveries may repeat; process each once.
    if (received.some((earlier) => earlier.id === id)) return;
    received.unshift(callback);
    received.length = Math.min(received.length, KEPT);
    settings.onReceived(callback);
    arrivals.emit("one");
  };

  const server = createServer(async (request, response) => {
    try {
      if (request.method === "GET") return await show(request.url ?? PATH, response);
      await take(request);
      response.writeHead(204).end();
    } catch {
      response.writeHead(400).end();
    }
  });
  const listen = (port: number) =>
    new Promise<void>((resolve, reject) => {
      server.once("error", reject).listen(port, "127.0.0.1", () => {
        server.off("error", reject);
        resolve();
      });
    });
  await listen(settings.port ?? 0).catch((error: unknown) => {
    const taken = error instanceof Error && "code" in error && error.code === "EADDRINUSE";
    if (!taken) throw error;
    return listen(0);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not on TCP");
  return {
    url: urlAt(address.port),
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > LONGEST_BODY) throw new Error("too long");
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

const isAbout = (body: unknown): body is { readonly requestId: unknown } =>
  typeof body === "object" && body !== null && "requestId" in body;
