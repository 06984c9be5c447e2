/** The transfer agent as its callers see it, over HTTP, on a database of its own. */
import { randomBytes } from "node:crypto";
import { Writable } from "node:stream";
import pino from "pino";
import { generateKeyPair, type JsonValue, signRequest } from "../../client/index.ts";
import { openSigningKeys, type SigningKeys } from "../../src/callbacks/signing-keys.ts";
import { connect } from "../../src/database/connect.ts";
import { docsPart } from "../../src/http/docs/part.ts";
import { createRateLimit } from "../../src/http/edge/rate-limit.ts";
import { watchHealth } from "../../src/http/health/health.ts";
import { registerPublicKey } from "../../src/http/keys.ts";
import { createMetrics } from "../../src/http/metrics.ts";
import { createServer } from "../../src/http/server.ts";
import { databaseProgress } from "../../src/service/health/database-progress.ts";
import { type TaPartSettings, taPart } from "../../src/ta/api/part.ts";
import type { Pace } from "../../src/ta/api/read-body.ts";
import { ringOf } from "../../src/ta/pii/pii-keys.ts";
import { openVault, type PiiVault } from "../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../src/ta/requests/accept.ts";
import type { TaAsset } from "../../src/ta/requests/asset.ts";
import { fingerprints } from "../../src/ta/requests/fingerprint.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";

export const COIN = `0x${"7".padStart(64, "0")}::acme::ACME`;
export const EVM_TOKEN = `0x${"5f".repeat(20)}` as const;

export const ASSETS: ReadonlyMap<string, TaAsset> = new Map<string, TaAsset>([
  [
    "acme-sui",
    {
      name: "acme-sui",
      project: "acme",
      callbackUrl: "https://hooks.acme.example/ta",
      whitelistGroupId: 7,
      ledger: "sui",
      coinType: COIN,
    },
  ],
  [
    "acme-evm",
    {
      name: "acme-evm",
      project: "acme",
      callbackUrl: "https://hooks.acme.example/ta",
      whitelistGroupId: 1,
      ledger: "evm",
      token: {
        name: "acme-evm",
        ledger: "evm",
        network: "avalanche_fuji",
        chainId: 43113,
        rpc: ["https://rpc.acme.example"],
        address: EVM_TOKEN,
        type: "comakery_security_token_v4",
        fromBlock: 0,
        finality: "finalized",
        lockup: null,
        identityRegistry: null,
        groups: {},
        schedules: {},
        whitelistGroupId: 1,
        ta: { callbackUrl: "https://hooks.acme.example/ta" },
      },
    },
  ],
]);

export type Reply = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** The body as JSON, as far as tests look into it. */
  readonly json: Readonly<Record<string, unknown>>;
};

export type KeyPair = ReturnType<typeof generateKeyPair>;

export type Api = AsyncDisposable & {
  readonly url: string;
  readonly database: TestDatabase;
  readonly signingKeys: SigningKeys;
  readonly vault: PiiVault;
  /** Lines the server logged. */
  readonly log: readonly string[];
  /** Registered for `acme-sui`. */
  readonly keys: KeyPair;
  /** A registered pair. */
  newKeys(asset: string, options?: { readonly requireBound?: boolean }): Promise<KeyPair>;
  /** Signs the body alone and posts it. */
  post(
    path: string,
    body: JsonValue,
    options?: { readonly keys?: KeyPair; readonly headers?: Readonly<Record<string, string>> },
  ): Promise<Reply>;
  /** Signs with a bound signature. */
  bound(
    path: string,
    body: JsonValue,
    options?: {
      readonly keys?: KeyPair;
      readonly idempotencyKey?: string | undefined;
      readonly now?: Date;
    },
  ): { readonly body: string; readonly headers: Readonly<Record<string, string>> };
  /** Signs method, path and time, and gets. */
  get(path: string, keys?: KeyPair, now?: Date): Promise<Reply>;
  /** Sends anything. */
  send(path: string, init: RequestInit): Promise<Reply>;
};

export const startApi = async (
  settings: {
    readonly bodyBytes?: number;
    readonly fileBytes?: number;
    readonly attempts?: number;
    /** Requests a minute of one key. */
    readonly limit?: number;
    readonly pace?: Pace;
    /** The URL by which the service reaches its database. */
    readonly way?: (url: string) => Promise<string>;
    /** One that is there; else a new one, which ends with the service. */
    readonly database?: TestDatabase;
    readonly catchUp?: TaPartSettings["catchUp"];
  } = {},
): Promise<Api> => {
  const database = settings.database ?? (await freshDatabase());
  const { way = async (direct: string) => direct } = settings;
  const there = { url: await way(database.url), applicationName: "test-service" };
  const write = connect({ ...there, max: 8 });
  const read = connect({ ...there, max: 4, readOnly: true });
  const log: string[] = [];
  const logger = pino(
    { level: "debug", base: null },
    new Writable({
      write: (chunk, _encoding, done) => {
        log.push(String(chunk));
        done();
      },
    }),
  );
  const signingKeys = await openSigningKeys(write, randomBytes(32));
  const vault = openVault(write, ringOf([{ id: "test", key: randomBytes(32) }]));
  const health = watchHealth({
    progress: databaseProgress(read.db, []),
    version: "test",
    onError: () => undefined,
    observeEveryMs: 0,
    withinMs: 30_000,
  });
  const limit = (policy: string, quota: number) =>
    createRateLimit({ policy, quota, windowSeconds: 60 });
  const { bodyBytes = 15 * 1024 * 1024, fileBytes = 5 * 1024 * 1024 } = settings;
  const part = taPart({
    database: write,
    read,
    catchUp: settings.catchUp,
    keys: read,
    assets: () => ASSETS,
    accept: createAcceptance({ database: write, vault }),
    fingerprints: fingerprints(randomBytes(32)),
    signingKeys,
    limits: {
      limit: limit("default", settings.limit ?? 1_000_000),
      attempts: limit("attempts", settings.attempts ?? 1_000_000),
    },
    bounds: {
      bodyBytes,
      fileBytes,
      allBodiesBytes: 4 * bodyBytes,
      ...(settings.pace !== undefined && { pace: settings.pace }),
    },
    platformName: "platform",
    version: "test",
  });
  const server = await createServer({
    parts: [part, docsPart({ parts: [part], version: "test" })],
    logger,
    version: "test",
    health,
    metrics: createMetrics(health),
    unready: async () => null,
    trustProxy: false,
  });
  const url = await server.listen({ port: 0, host: "127.0.0.1" });

  const newKeys: Api["newKeys"] = async (asset, { requireBound = false } = {}) => {
    const pair = generateKeyPair();
    await registerPublicKey(database, { publicKey: pair.publicKey, asset, requireBound });
    return pair;
  };
  const keys = await newKeys("acme-sui");

  const send: Api["send"] = async (path, init) => {
    const response = await fetch(`${url}${path}`, { signal: AbortSignal.timeout(20_000), ...init });
    const text = await response.text();
    const json: unknown = /^[[{]/.test(text) ? JSON.parse(text) : {};
    return {
      status: response.status,
      headers: response.headers,
      text,
      json: json as Reply["json"],
    };
  };
  return {
    url,
    database,
    signingKeys,
    vault,
    log,
    keys,
    newKeys,
    send,
    post: (path, body, options = {}) => {
      const signed = signRequest({ secretKey: (options.keys ?? keys).secretKey, body });
      const headers = { ...signed.headers, ...options.headers };
      return send(path, { method: "POST", body: signed.body, headers });
    },
    bound: (path, body, { keys: pair = keys, ...rest } = {}) =>
      signRequest({ secretKey: pair.secretKey, body, path, ...rest }),
    get: (path, pair = keys, now = new Date()) => {
      const { secretKey } = pair;
      const { headers } = signRequest({ secretKey, method: "GET", path, now });
      return send(path, { headers });
    },
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await health[Symbol.asyncDispose]();
      await Promise.all([read.close(), write.close()]);
      if (settings.database === undefined) await database.close();
    },
  };
};
