/** A whole circle for tests: the demo ledger, its node, its indexing, and investors' requests. */
import { randomBytes } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pino from "pino";
import { type DemoNode, startDemoNode } from "../../../demo/execution.ts";
import { type DemoSource, demoSource } from "../../../demo/source.ts";
import { registerEndpoint } from "../../../src/callbacks/endpoints.ts";
import { type HolderEvent, holderEvents } from "../../../src/projections/holder-events.ts";
import { startIndexing } from "../../../src/service/indexing.ts";
import { readConfig } from "../../../src/settings/read-config.ts";
import { ringOf } from "../../../src/ta/pii/pii-keys.ts";
import { openVault, type PiiVault } from "../../../src/ta/pii/vault.ts";
import { createAcceptance } from "../../../src/ta/requests/accept.ts";
import { taEndpoint } from "../../../src/ta/requests/asset.ts";
import { fingerprints } from "../../../src/ta/requests/fingerprint.ts";
import { until } from "../../lanes/until.ts";
import { freshDatabase, type TestDatabase } from "../../postgres.ts";
import { submission } from "../submissions.ts";

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
  gasCoins = 8,
  callbackUrl,
  checkpointsPerSecond = 20,
}: {
  readonly gasCoins?: number;
  readonly callbackUrl?: string;
  readonly checkpointsPerSecond?: number;
} = {}): Promise<Circle> => {
  const database = await freshDatabase({ max: 12 });
  const dataDir = await mkdtemp(join(tmpdir(), "circle-"));
  const source = demoSource({
    ...{ dataDir, seed: "circle", story: "chance", history: 60 },
    checkpointsPerSecond,
  });
  const [coin] = source.coinTypes;
  if (coin === undefined) throw new Error("the demo ledger has no coin");
  const { registrar } = source.staff(coin.coinType);
  const logged: string[] = [];
  const stop = new AbortController();
  const indexing = startIndexing({
    // Signatures, one for each of 20 checkpoints a second, are a third of the work, and not what is tested here.
    config: readConfig({ DATA_DIR: dataDir, VERIFY: "links" }),
    logger: pino({ level: "debug" }, { write: (line: string) => void logged.push(line) }),
    storage: { write: database },
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
  await source.submit({ sender: registrar, calls: [], gasCoins });
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
      // There is none before the first one.
      const text = await readFile(join(dataDir, "demo-ledger-receipts.jsonl"), "utf8").catch(
        () => "",
      );
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

/** A wallet without an owner. */
export const newWallet = () => `0x${randomBytes(32).toString("hex")}`;

const fingerprint = fingerprints(randomBytes(32));

/** The vault of tests, all of whose processes have the same key. */
export const vaultOf = (database: Pick<TestDatabase, "sql" | "transaction">): PiiVault =>
  openVault(database, ringOf([{ id: "test", key: Buffer.alloc(32, 7) }]));

/** Accepts a request as the API does. */
export const acceptRequest = async (
  database: TestDatabase,
  { asset = ASSET, investorId, wallet = newWallet(), kind = "whitelist", ...rest }: TestRequest,
): Promise<string> => {
  const vault = vaultOf(database);
  const lossy: PiiVault = { ...vault, storing: (sql) => sql`select 1` };
  const accept = createAcceptance({ database, vault: rest.stored === false ? lossy : vault });
  const { verifiedStatus = true } = rest;
  const { answer } = await accept({
    asset,
    kind,
    submission: {
      ...submission({ id: investorId, blockchain_wallet: wallet }),
      verifiedStatus,
    },
    fingerprint: fingerprint({
      keyId: "key",
      path: `/api/v1/investor/${kind}`,
      canonicalBody: randomBytes(32),
      idempotencyKey: undefined,
    }),
  });
  const { requestId }: { requestId: string } = JSON.parse(answer);
  return requestId;
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

/** What the register says happened to a wallet, oldest first. */
export const registerOf = async (
  { database, coinType }: Circle,
  wallet: string,
): Promise<readonly HolderEvent[]> => {
  const all = await holderEvents(database.db, { coinType, limit: 1_000_000 });
  return all.filter(({ address }) => address === wallet);
};

/** Statuses and messages a request went through. */
export const historyOf = ({ sql }: TestDatabase, id: string) =>
  sql<
    { status: string; message: string }[]
  >`select status, message from ta_request_history where request_id = ${id} order by number`;

/** Accepts `each` requests of every investor, in turns, a turn at a time; how many they are. */
export const acceptMany = async (
  database: TestDatabase,
  investors: number,
  each: number,
  kindOf: (n: number) => "whitelist" | "kyc",
): Promise<number> => {
  const names = Array.from({ length: investors }, (_, n) => `investor-${n}`);
  for (let turn = 0; turn < each; turn += 1) {
    const kind = kindOf(turn);
    await Promise.all(names.map((investorId) => acceptRequest(database, { investorId, kind })));
  }
  return investors * each;
};

/** Gives everything of one asset another one's name, as if the assets file named another one. */
export const renameAsset = async ({ sql }: TestDatabase, from: string, to: string) => {
  for (const table of ["ta_lanes", "ta_requests", "ta_pii_records", "ta_wallet_claims"]) {
    await sql`update ${sql(table)} set asset = ${to} where asset = ${from}`;
  }
};
