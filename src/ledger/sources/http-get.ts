import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

export type HttpAnswer = {
  readonly status: number;
  /** First value of a header, by lower-case name. */
  header(name: string): string | undefined;
  readonly body: Uint8Array;
};

type HttpGetOptions = {
  readonly method: "GET" | "HEAD";
  /** A larger body fails with BodyTooLargeError. */
  readonly maxBytes: number;
};

export type HttpBounds = {
  readonly sockets: number;
  /** Maximum silence while connecting or between bytes, ms. */
  readonly silenceMs: number;
  /** Timeout of a whole answer, ms. */
  readonly answerMs: number;
};

/** The body exceeds the limit; the request was aborted. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";

  constructor(maxBytes: number) {
    super(`the body is larger than ${maxBytes} bytes`);
  }
}

/** HTTP client for one server, with keep-alive. */
export type HttpClient = {
  /** @throws BodyTooLargeError, or a connection error: refused, reset, silent, late, cut off */
  ask(url: URL, options: HttpGetOptions, signal: AbortSignal): Promise<HttpAnswer>;
  close(): void;
};

/**
 * node:http instead of fetch: its agent limits sockets, and a truncated body is an error.
 *
 * @param headers sent with every request, such as an API key
 */
export const createHttpClient = (
  { sockets, silenceMs, answerMs }: HttpBounds,
  headers: Readonly<Record<string, string>> = {},
): HttpClient => {
  const pool = { keepAlive: true, maxSockets: sockets, maxFreeSockets: sockets };
  const http = new HttpAgent(pool);
  const https = new HttpsAgent(pool);
  return {
    ask: (url, { method, maxBytes }, signal) =>
      new Promise((resolve, reject) => {
        const secure = url.protocol === "https:";
        const request = (secure ? requestHttps : requestHttp)(url, {
          agent: secure ? https : http,
          method,
          headers,
          signal,
          timeout: silenceMs,
        });
        const deadline = setTimeout(
          () => request.destroy(new Error(`no complete answer within ${answerMs} ms`)),
          answerMs,
        );
        request.on("close", () => clearTimeout(deadline));
        request.on("timeout", () => request.destroy(new Error(`silent for ${silenceMs} ms`)));
        request.on("error", reject);
        request.on("response", (response) => {
          // A truncated answer ends in an error of the stream or at the deadline.
          readBody(response, method, maxBytes).then(
            (body) =>
              resolve({
                status: response.statusCode ?? 0,
                header: (name) => {
                  const value = response.headers[name];
                  return Array.isArray(value) ? value[0] : value;
                },
                body,
              }),
            (error: unknown) => {
              request.destroy();
              reject(error);
            },
          );
        });
        request.end();
      }),
    close: () => {
      http.destroy();
      https.destroy();
    },
  };
};

const readBody = async (
  response: IncomingMessage,
  method: HttpGetOptions["method"],
  maxBytes: number,
): Promise<Uint8Array> => {
  const announced = Number(response.headers["content-length"] ?? 0);
  // HEAD announces a length without a body.
  if (method === "GET" && announced > maxBytes) throw new BodyTooLargeError(maxBytes);
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response) {
    if (!Buffer.isBuffer(chunk)) throw new TypeError("a response stream brings buffers");
    length += chunk.byteLength;
    if (length > maxBytes) throw new BodyTooLargeError(maxBytes);
    chunks.push(chunk);
  }
  return chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks, length);
};
