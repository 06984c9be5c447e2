/**
 * The transfer agent API: accepted whitelist requests per second, beside a bare fastify handler
 * that checks the same signature over the same canonical body and inserts one row; and the time
 * from 201 to callback on the demo ledger.
 */
import { randomBytes } from "node:crypto";
import { createServer as createHttpServer } from "node:http";
import fastify from "fastify";
import pino from "pino";
import { canonicalJson } from "../client/canonical-json.ts";
import {
  generateKeyPair,
  type JsonValue,
  signRequest,
  verifyBodySignature,
} from "../client/index.ts";
import { openSigningKeys } from "../src/callbacks/signing-keys.ts";
import type { Database } from "../src/database/connect.ts";
import { createRateLimit } from "../src/http/edge/rate-limit.ts";
import { registerPublicKey } from "../src/http/keys.ts";
import { taPart } from "../src/ta/api/part.ts";
import { ringOf } from "../src/ta/pii/pii-keys.ts";
import { openVault } from "../src/ta/pii/vault.ts";
import { createAcceptance } from "../src/ta/requests/accept.ts";
import { fingerprints } from "../src/ta/requests/fingerprint.ts";
import { type Figure, inTurn, median, ratioOf, summedUp } from "./figure.ts";
import { callOf, startLoad } from "./load.ts";
import { serveParts } from "./parts-server.ts";
import { scratchPostgres, startHolderbook } from "./start.ts";

const ROUNDS = 3;
const REQUESTS = 1_500;
const CONNECTIONS = 16;
const INVESTORS = 200;
export const PATH = "/api/v1/investor/whitelist";
const CIRCLES = 20;
const DEADLINE_MS = 30_000;

type Post = { readonly headers: Readonly<Record<string, string>>; readonly body: string };

export const bench = async (): Promise<readonly Figure[]> => [await acceptance(), await circle()];

const acceptance = async (): Promise<Figure> => {
  await using scratch = await scratchPostgres();
  const { database } = scratch;
  const pair = generateKeyPair();
  await registerPublicKey(database, { asset: "bench", publicKey: pair.publicKey });
  await using ours = await openOurs(database);
  await using bare = await openBare(database);
  await using load = startLoad();
  const rates = await inTurn(
    ROUNDS,
    [bare, ours].map(({ url }) => async () => {
      const calls = signedPosts(pair.secretKey, REQUESTS).map(({ headers, body }) =>
        callOf(Number(new URL(url).port), `POST ${PATH}`, headers, { body, status: 201 }),
      );
      return (await load.ask({ calls, connections: CONNECTIONS, forMs: null })).perSecond;
    }),
  );
  const [theirs = [], mine = []] = rates;
  return {
    name: "accepted",
    what: "Transfer agent: requests accepted a second / a bare handler that verifies and inserts one row",
    ...ratioOf("/s", mine, theirs),
    ...{ better: "more", aim: 0.6 },
  };
};

const investorOf = (n: number, wallet: string) => ({
  id: `investor-${n % INVESTORS}`,
  first_name: "Ada",
  last_name: "Example",
  email: "ada@example.com",
  dob: "1980-01-31",
  full_address: { street: "1 Main St", city: "Oslo", countryCode: "NO", postalCode: "0150" },
  blockchain_wallet: wallet,
  primary_phone: "+4722222222",
});

export const signedPosts = (secretKey: string, count: number): readonly Post[] =>
  Array.from({ length: count }, (_, n) => {
    const body: JsonValue = { investor: investorOf(n, `0x${randomBytes(32).toString("hex")}`) };
    const { headers } = signRequest({ secretKey, body });
    return {
      headers: { ...headers, "content-type": "application/json" },
      body: JSON.stringify(body),
    };
  });

/** The transfer agent's API for the asset `bench`. */
export const openOurs = async (database: Database) => {
  const unlimited = () => createRateLimit({ policy: "bench", quota: 1e9, windowSeconds: 60 });
  const MIB = 1024 * 1024;
  return serveParts(database, {
    parts: [
      taPart({
        database,
        read: database,
        keys: database,
        assets: () =>
          new Map([
            [
              "bench",
              {
                name: "bench",
                project: "bench",
                callbackUrl: "https://bench.example/",
                whitelistGroupId: 1,
                ledger: "sui",
                coinType: `0x${"7".padStart(64, "0")}::bench::BENCH`,
              },
            ],
          ]),
        accept: createAcceptance({
          database,
          vault: openVault(database, ringOf([{ id: "bench", key: randomBytes(32) }])),
        }),
        fingerprints: fingerprints(randomBytes(32)),
        signingKeys: await openSigningKeys(database, randomBytes(32)),
        limits: { limit: unlimited(), attempts: unlimited() },
        bounds: { bodyBytes: 15 * MIB, fileBytes: 5 * MIB, allBodiesBytes: 120 * MIB },
        platformName: "platform",
        version: "bench",
      }),
    ],
    logger: pino({ level: "silent" }),
  });
};

/** The minimum for any service: one signature over the canonical body, and one row. */
const openBare = async ({ sql }: Database) => {
  await sql`create table bench_requests (id uuid primary key default gen_random_uuid(), body jsonb not null)`;
  const app = fastify();
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("application/json", { parseAs: "string" }, (_request, body, done) =>
    done(null, body),
  );
  app.post<{ Body: string }>(PATH, async (request, reply) => {
    const publicKeys = String(request.headers["x-api-key"]);
    const signature = String(request.headers["x-request-sig-b64"]);
    const parsed: JsonValue = JSON.parse(request.body);
    verifyBodySignature({ signature, body: canonicalJson(parsed), publicKeys });
    const [row] = await sql`
      insert into bench_requests (body) values (${request.body}::text::jsonb) returning id`;
    return reply.status(201).send({ requestId: row?.id, status: "QUEUED" });
  });
  const url = await app.listen({ port: 0, host: "127.0.0.1" });
  return { url, [Symbol.asyncDispose]: () => app.close() };
};

/** The whole service on the demo ledger as `start` runs it, one request at a time. */
const circle = async (): Promise<Figure> => {
  const arrived = new Map<string, number>();
  const receiver = createHttpServer((request, response) => {
    let text = "";
    request.on("data", (chunk: Buffer) => {
      text += chunk.toString();
    });
    request.on("end", () => {
      const requestId = /"requestId":"([^"]+)"/.exec(text)?.[1];
      if (requestId !== undefined) arrived.set(requestId, performance.now());
      response.writeHead(204).end();
    });
  });
  await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
  const address = receiver.address();
  const port = address !== null && typeof address === "object" ? address.port : 0;
  try {
    await using service = await startHolderbook({
      DEMO_STORY: "chance",
      DEMO_HISTORY: "200",
      DEMO_CALLBACK_URL: `http://127.0.0.1:${port}/`,
    });
    const created = await service.createKey("--kind", "ta", "--asset", "demo-a");
    const secretKey = /"secretKey":"([^"]+)"/.exec(created)?.[1] ?? "";
    const took: number[] = [];
    for (const [n, post] of signedPosts(secretKey, CIRCLES + 1).entries()) {
      const { headers, body } = post;
      const response = await fetch(`http://127.0.0.1:${service.port}${PATH}`, {
        method: "POST",
        headers: { ...headers },
        body,
      });
      const accepted = performance.now();
      const requestId = /"requestId":"([^"]+)"/.exec(await response.text())?.[1] ?? "";
      const at = await arrival(arrived, requestId, response.status);
      // The first one waits for the signer's coins.
      if (n > 0) took.push(at - accepted);
    }
    return {
      name: "circle",
      what: "Transfer agent: from 201 to the callback, demo ledger, median",
      ...summedUp("ms", took, median),
      ...{ better: "less", aim: 2_000 },
      detail: `the slowest of ${took.length} ${Math.round(Math.max(...took))} ms; a checkpoint comes every 250 ms, and the transaction waits for the next one`,
    };
  } finally {
    receiver.closeAllConnections();
    receiver.close();
  }
};

const arrival = async (
  arrived: ReadonlyMap<string, number>,
  requestId: string,
  status: number,
): Promise<number> => {
  const until = performance.now() + DEADLINE_MS;
  for (;;) {
    const at = arrived.get(requestId);
    if (at !== undefined) return at;
    if (performance.now() > until) {
      throw new Error(`request "${requestId}" (answered ${status}) was not called back in time`);
    }
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
};
