/**
 * Latency of accepted requests while retention removes a million delivered callbacks, beside the same
 * requests without it, in turn.
 */
import pino from "pino";
import { generateKeyPair } from "../client/index.ts";
import { registerEndpoint } from "../src/callbacks/endpoints.ts";
import type { Database } from "../src/database/connect.ts";
import { registerPublicKey } from "../src/http/keys.ts";
import { RESTS, retention } from "../src/service/retention.ts";
import { createFigures } from "../src/telemetry/figures.ts";
import { pause } from "../src/waiting/backoff.ts";
import { fillDelivered } from "../test/callbacks/old-messages.ts";
import { type Figure, inTurn, quantile, ratioOf } from "./figure.ts";
import { callOf, startLoad } from "./load.ts";
import { scratchPostgres } from "./start.ts";
import { openOurs, PATH, signedPosts } from "./ta.ts";

const ROUNDS = 5;
const REQUESTS = 2_000;
const CONNECTIONS = 4;
const ENDPOINT = "project:bench";

/** @param rows delivered callbacks, each with an attempt */
export const bench = async (rows = "1000000"): Promise<Figure> => {
  await using scratch = await scratchPostgres();
  const { database } = scratch;
  await registerEndpoint(database, { allowPrivate: true }, { key: ENDPOINT, url: "http://[::1]/" });
  const count = Number(rows);
  await fillDelivered(database.sql, { count, days: 90, endpoint: ENDPOINT });
  const pair = generateKeyPair();
  await registerPublicKey(database, { asset: "bench", publicKey: pair.publicKey });
  await using ours = await openOurs(database);
  await using load = startLoad();
  const port = Number(new URL(ours.url).port);
  const ask = async () => {
    const calls = signedPosts(pair.secretKey, REQUESTS).map(({ headers, body }) =>
      callOf(port, `POST ${PATH}`, headers, { body, status: 201 }),
    );
    return await load.ask({ calls, connections: CONNECTIONS, forMs: null });
  };
  const removal = { removed: 0, ms: 0, longestMs: 0 };
  const work = retention({
    config: { retainCallbacksDays: 30, retainRequestsDays: 0 },
    logger: pino({ level: "silent" }),
    figures: {
      ...createFigures(),
      count: (_name, labels: Readonly<Record<string, string>>, by = 1) => {
        if (labels.table === "callback_messages") removal.removed += by;
      },
    },
  });
  if (work === undefined) throw new Error("retention is off");
  const removing = async () => {
    const ending = new AbortController();
    const began = performance.now();
    const loop = (async () => {
      while (!ending.signal.aborted) {
        const at = performance.now();
        await work.next(database);
        const took = performance.now() - at;
        removal.longestMs = Math.max(removal.longestMs, took);
        await pause(took * RESTS, ending.signal);
      }
    })();
    const answers = await ask();
    ending.abort();
    await loop;
    removal.ms += performance.now() - began;
    return answers;
  };
  const [without = [], during = []] = (await inTurn(ROUNDS, [ask, removing])).map((rounds) =>
    rounds.map(({ millis }) => quantile(millis, 0.99)),
  );
  const perSecond = (removal.removed / removal.ms) * 1_000;
  const left = await leftIn(database);
  return {
    name: "p99",
    what: `Accepted requests: p99 while ${count.toLocaleString("en")} old callbacks are removed / without`,
    ...ratioOf("ms", during, without),
    ...{ better: "less", aim: 1.5 },
    detail: `${Math.round(perSecond)} callbacks a second removed with their attempts, the longest statement ${Math.round(removal.longestMs)} ms; ${left} left`,
  };
};

const leftIn = async ({ sql }: Pick<Database, "sql">): Promise<number> => {
  const [row] = await sql<{ count: number }[]>`
    select count(*)::int4 as count from callback_messages`;
  return row?.count ?? 0;
};
