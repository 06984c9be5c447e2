/**
 * The receiver of the demo's callbacks: it verifies each one as a receiver should, answers, and shows
 * what it has got to whoever asks.
 */
import { createServer, type IncomingMessage } from "node:http";
import { verifyCallback } from "../client/index.mjs";

/** A callback that was received and whose signature was right. */
export type DemoCallback = {
  readonly id: string;
  readonly receivedAt: string;
  readonly body: unknown;
};

export type DemoReceiver = AsyncDisposable & {
  /** Callbacks are posted here; a GET lists the newest, newest first. */
  readonly url: string;
};

const KEPT = 100;
const LONGEST_BODY = 1024 * 1024;

/** Starts it on a free port of loopback. */
export const startDemoReceiver = async (settings: {
  /** Base64 public keys that callbacks may be signed with now. */
  readonly publicKeys: () => Promise<readonly string[]>;
  readonly onReceived: (callback: DemoCallback) => void;
}): Promise<DemoReceiver> => {
  const received: DemoCallback[] = [];
  const server = createServer(async (request, response) => {
    try {
      if (request.method === "GET") {
        const text = JSON.stringify(received, null, 2);
        response.writeHead(200, { "content-type": "application/json" }).end(`${text}\n`);
        return;
      }
      const body = await bodyOf(request);
      const { headers } = request;
      const publicKeys = await settings.publicKeys();
      const verified = verifyCallback({ headers, body, publicKeys });
      const { id } = verified;
      const callback = { id, receivedAt: new Date().toISOString(), body: verified.json() };
      // The same one may come again: what is acted on is acted on once.
      if (!received.some((earlier) => earlier.id === id)) {
        received.unshift(callback);
        received.length = Math.min(received.length, KEPT);
        settings.onReceived(callback);
      }
      response.writeHead(204).end();
    } catch {
      response.writeHead(400).end();
    }
  });
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(0, "127.0.0.1", resolve);
  });
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("not on TCP");
  return {
    url: `http://127.0.0.1:${address.port}/callbacks`,
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
