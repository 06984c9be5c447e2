/** A whole circle for tests: the demo ledger, its node, its indexing, and investors' requests. */
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { registerEndpoint } from "../../src/callbacks/endpoints.ts";
import { readConfig } from "../../src/config.ts";
import { type DemoNode, startDemoNode } from "../../src/demo/execution.ts";
import { type DemoSource, demoSource } from "../../src/demo/source.ts";
import { startIndexing } from "../../src/service/indexing.ts";
import { taEndpoint } from "../../src/ta/asset.ts";
import { TA_REQUESTS_CHANNEL } from "../../src/ta/request-wake.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { until } from "../queue/until.ts";

/** The asset of the circle. */
export const ASSET = "demo-a";
export const GROUP = 1;

export type Circle = AsyncDisposable & {
  readonly database: TestDatabase;
  readonly source: DemoSource;
  readonly node: DemoNode;
  readonly coinType: string;
  /** WalletsAdmin of the coin, with coins of its own to pay with. */
  readonly registrar: string;
  /** Digests of all transactions that the ledger took from outside, as often as it took them. */
  readonly taken: () => Promise<readonly string[]>;
  /** Lines logged by indexing. */
  readonly logged: readonly string[];
};

/** Starts everything but the processing; resolves once the registrar can pay. */
export const startCircle = async ({
  purses = 8,
  callbackUrl,
  checkpointsPerSecond = 20,
}: {
  readonly purses?: number;
  readonly callbackUrl?: string;
  readonly checkpointsPerSecond?: number;
} = {}): Promise<Circle> => {
  const database = await freshDatabase({ max: 12 });
  const dataDir = await mkdtemp(join(tmpdir(), "circle-"));
  const source = demoSource({ dataDir, seed: "circle", checkpointsPerSecond, history: 60 });
  const [coin] = source.coinTypes;
  if (coin === undefined) throw new Error("the demo ledger has no coin");
  const { registrar } = source.staff(coin.coinType);
  const logged: string[] = [];
  const stop = new AbortController();
  const indexing = startIndexing({
    config: readConfig({ DATA_DIR: dataDir }),
    logger: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }),
    storage: {
      write: database,
      read: database,
      url: database.url,
      kind: "given",
      [Symbol.asyncDispose]: async () => undefined,
    },
    ledger: {
      source,
      packages: source.packages,
      firstCheckpoint: 0n,
      coinTypes: source.coinTypes.map(({ coinType }) => coinType),
      about: "the demo ledger",
      recordDecimals: async () => undefined,
    },
    firstCheckpoint: 0n,
    signal: stop.signal,
  });
  const node = await startDemoNode(source);
  await indexing.opened;
  await source.submit({ sender: registrar, calls: [], purses });
  if (callbackUrl !== undefined) {
    await registerEndpoint(
      database,
      { allowPrivate: true },
      { key: taEndpoint(ASSET), url: callbackUrl },
    );
  }
  return {
    database,
    source,
    node,
    coinType: coin.coinType,
    registrar,
    taken: async () => {
      const text = await readFile(join(dataDir, "demo-ledger-receipts.jsonl"), "utf8");
      return [...text.matchAll(/"digest":"(\w+)"/g)].map(([, digest = ""]) => digest);
    },
    logged,
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await indexing.ended;
      await node[Symbol.asyncDispose]();
      await source.close();
      await database.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
};

export type TestRequest = {
  readonly asset?: string;
  readonly investorId: string;
  readonly wallet?: string;
  readonly kind?: "whitelist" | "kyc";
  readonly verifiedStatus?: boolean;
  readonly stored?: boolean;
};

/** A wallet that nobody has. */
export const newWallet = () =>
  `0x${`${randomUUID()}${randomUUID()}`.replaceAll("-", "").slice(0, 64).padEnd(64, "0")}`;

/** Accepts a request as the API does: lane, request, history and sealed record in one transaction. */
export const acceptRequest = async (
  database: TestDatabase,
  { asset = ASSET, investorId, wallet = newWallet(), kind = "whitelist", ...rest }: TestRequest,
): Promise<string> => {
  const id = randomUUID();
  await database.transaction(async ({ sql }) => {
    const [lane] = await sql<{ id: bigint }[]>`
      insert into ta_lanes (asset, investor_id) values (${asset}, ${investorId})
      on conflict (asset, investor_id) do update
        set arrivals = ta_lanes.arrivals + 1, wake_at = coalesce(ta_lanes.wake_at, now())
      returning id`;
    await sql`
      insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, verified_status,
                               verified_at, message, key_id)
      values (${id}, ${lane?.id ?? 0n}, ${asset}, ${kind}, ${investorId}, ${wallet},
              ${rest.verifiedStatus ?? true}, now(), 'accepted', 'key')`;
    await sql`
      insert into ta_request_history (request_id, number, status, message)
      values (${id}, 1, 'QUEUED', 'accepted')`;
    if (rest.stored === false) return;
    await sql`
      insert into ta_pii_records (request_id, asset, investor_id, key_id, sealed_key, sealed)
      values (${id}, ${asset}, ${investorId}, 'k', '\\x00', '\\x00')`;
  });
  await database.sql`select pg_notify(${TA_REQUESTS_CHANNEL}, '')`;
  return id;
};

export type Done = {
  readonly id: string;
  readonly status: string;
  readonly reason: string | null;
  readonly message: string;
  readonly tx_id: string | null;
};

/** Waits until a request is final. */
export const ended = async (
  { sql }: TestDatabase,
  id: string,
  deadlineMs = 30_000,
): Promise<Done> => {
  const look = () => sql<Done[]>`
    select id, status, reason, message, tx_id from ta_requests where id = ${id}`;
  const rows = await until(
    `the end of request ${id}`,
    look,
    ([row]) => row?.status === "SUCCESS" || row?.status === "FAILED",
    deadlineMs,
  );
  const [row] = rows;
  if (row === undefined) throw new Error(`no request ${id}`);
  return row;
};

/** Statuses and messages a request went through. */
export const historyOf = ({ sql }: TestDatabase, id: string) =>
  sql<
    { status: string; message: string }[]
  >`select status, message from ta_request_history where request_id = ${id} order by number`;

/** Accepts `each` requests of every investor, in turns, a turn at a time; how many they are. */
export const acceptMany = async (
  { sql }: TestDatabase,
  investors: number,
  each: number,
  kindOf: (n: number) => "whitelist" | "kyc",
): Promise<number> => {
  for (let turn = 0; turn < each; turn += 1) {
    await sql`
      with lanes as (
        insert into ta_lanes (asset, investor_id)
        select ${ASSET}, 'investor-' || n from generate_series(1, ${investors}::int4) as n
        on conflict (asset, investor_id) do update
          set arrivals = ta_lanes.arrivals + 1, wake_at = coalesce(ta_lanes.wake_at, now())
        returning id, investor_id
      ), requests as (
        insert into ta_requests (id, lane_id, asset, kind, investor_id, wallet, verified_status,
                                 verified_at, message, key_id)
        select gen_random_uuid(), id, ${ASSET}, ${kindOf(turn)}, investor_id,
               '0x' || encode(sha256(convert_to(investor_id || ' ' || ${turn}::text, 'utf8')), 'hex'),
               true, now(), 'accepted', 'key'
        from lanes returning id, investor_id
      ), history as (
        insert into ta_request_history (request_id, number, status, message)
        select id, 1, 'QUEUED', 'accepted' from requests
      )
      insert into ta_pii_records (request_id, asset, investor_id, key_id, sealed_key, sealed)
      select id, ${ASSET}, investor_id, 'k', '\\x00', '\\x00' from requests`;
    await sql`select pg_notify(${TA_REQUESTS_CHANNEL}, '')`;
  }
  return investors * each;
};
