import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { zstdCompressSync } from "node:zlib";
import { sampleCheckpointBytes } from "./sample-checkpoint.ts";

/** Answers a request itself and returns true, or leaves it to the store. */
export type Misbehaviour = (
  sequence: bigint,
  response: ServerResponse,
  method: string,
) => boolean | Promise<boolean>;

/** What a test may change while the server runs. */
export type StoreState = {
  /** Objects from `oldest` to `newest` are there, apart from those in `lost`. */
  oldest: bigint;
  newest: bigint;
  lost: Set<bigint>;
  misbehave: Misbehaviour;
  object: (sequence: bigint) => Uint8Array;
  /** Time to answer, milliseconds. */
  answerMs: number;
};

/**
 * An object store over real HTTP: `/archive/{sequence}.binpb.zst`.
 * @param onPort where one that was closed comes back; any free one unless given
 */
export const startObjectStore = async (initial: Partial<StoreState> = {}, onPort = 0) => {
  const state: StoreState = {
    oldest: 0n,
    newest: -1n,
    lost: new Set(),
    misbehave: () => false,
    object: compressedSample,
    answerMs: 0,
    ...initial,
  };
  const seen = {
    gets: [] as bigint[],
    heads: [] as bigint[],
    underWay: 0,
    mostUnderWay: 0,
    connections: 0,
    lastUrl: "",
    lastHeaders: {} as Record<string, unknown>,
  };

  const server = createServer(async (request, response) => {
    const { method = "", url = "" } = request;
    seen.lastUrl = url;
    seen.lastHeaders = request.headers;
    const number = /^\/archive\/(\d+)\.binpb\.zst(\?.*)?$/.exec(url)?.[1];
    if (number === undefined) {
      response.writeHead(400).end();
      return;
    }
    const sequence = BigInt(number);
    (method === "HEAD" ? seen.heads : seen.gets).push(sequence);
    seen.underWay += 1;
    seen.mostUnderWay = Math.max(seen.mostUnderWay, seen.underWay);
    if (state.answerMs > 0) await new Promise((done) => setTimeout(done, state.answerMs));
    seen.underWay -= 1;
    if (await state.misbehave(sequence, response, method)) return;
    const there = sequence >= state.oldest && sequence <= state.newest && !state.lost.has(sequence);
    if (!there) {
      response.writeHead(404).end("<Error>NoSuchKey</Error>");
      return;
    }
    const body = state.object(sequence);
    response.writeHead(200, { "content-length": body.byteLength });
    response.end(method === "HEAD" ? undefined : body);
  });
  server.on("connection", () => {
    seen.connections += 1;
  });
  await new Promise<void>((listening) => server.listen(onPort, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  return {
    base: new URL(`http://127.0.0.1:${port}/archive`),
    state,
    seen,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
};

/** An object as the store keeps it. */
export const compressedSample = (sequence: bigint): Buffer =>
  zstdCompressSync(sampleCheckpointBytes(sequence));
