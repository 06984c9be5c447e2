import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";

/** What an HTTP server answered, read whole. */
export type HttpAnswer = {
  readonly status: number;
  /** A header by its lower-case name; the first one when it came several times. */
  header(name: string): string | undefined;
  readonly body: Uint8Array;
};

export type HttpGetOptions = {
  readonly method: "GET" | "HEAD";
  /** A larger body ends the request with BodyTooLargeError. */
  readonly maxBytes: number;
};

export type HttpBounds = {
  /** Connections kept open at most. */
  readonly sockets: number;
  /** Longest silence while connecting or between bytes, milliseconds. */
  readonly silenceMs: number;
  /** Longest time for a whole answer, milliseconds. */
  readonly answerMs: number;
};

/** The body is larger than the caller allows; the request was ended. */
export class BodyTooLargeError extends Error {
  override readonly name = "BodyTooLargeError";

  constructor(maxBytes: number) {
    super(`the body is larger than ${maxBytes} bytes`);
  }
}

/** Asks one server over connections that stay open. */
export type HttpClient = {
  /**
   * @throws BodyTooLargeError, or an Error of the connection: refused, reset, silent for too long,
   *   not complete in time, ended before the announced length
   */
  ask(url: URL, options: HttpGetOptions, signal: AbortSignal): Promise<HttpAnswer>;
  close(): void;
};

/**
 * node:http rather than fetch: its agent bounds the number of sockets, and a body that ends early is
 * an error by itself.
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
          // An answer cut short must end here as an error: by the stream itself, or by the deadline.
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
  // A HEAD announces the length of a body that it does not bring.
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
