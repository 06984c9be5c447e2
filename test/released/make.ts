/**
 * Makes a database as a released version leaves it, from real runs of that version: what
 * `carried-along.test.ts` brings to the version of today.
 *
 *   git checkout <release> && node_modules/node/bin/node test/released/make.ts <folder>
 *
 * A demo ledger goes on with data of its own edition alone: before it is made again for a newer edition,
 * the checkout is given the demo of that edition.
 *
 * Writes the folder: `database.txt.gz` (dump.ts), `about.json` (callers, answers, settings) and the demo
 * ledger's own files. Every key in it was made for it and opens nothing else.
 */
import { randomBytes } from "node:crypto";
import { copyFile, mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { z } from "zod";
import { demoSource } from "../../demo/source.ts";
import { connect } from "../../src/database/connect.ts";
import { startEmbeddedPostgres } from "../../src/database/embedded/embedded.ts";
import { startReceiver } from "../callbacks/receiver.ts";
import { startAnvil } from "../evm/anvil.ts";
import { eventually, runProgram, startProgram, temporaryFolder } from "../service/process.ts";
import { bodyOf } from "../ta/submissions.ts";
import { dumpOf } from "./dump.ts";
import { answersOf, postSigned } from "./questions.ts";

const [folder = ""] = process.argv.slice(2);
if (folder === "") throw new Error("name the folder to write");

const HISTORY = 45;
const demo = {
  ...({ seed: "released", story: "chance", history: HISTORY } as const),
  ...{ checkpointsPerSecond: 1, investors: 4 },
};

await using temporary = await temporaryFolder();
const dataDir = join(temporary.path, "data");
const server = await startEmbeddedPostgres({ dataDir: join(temporary.path, "server") });
const database = connect({ url: server.url, max: 2, applicationName: "make" });
const chain = await startAnvil();

// Every delivery fails once; in the end nothing is taken any more.
let refusing = false;
const receiver = await startReceiver((_, before) => (refusing || before === 0 ? 503 : 204));

// Its addresses go by the time at which it was begun: the service takes up the one begun here.
const coinTypes = await (async () => {
  const source = demoSource({ dataDir, ...demo });
  await source.close();
  return source.coinTypes.map(({ coinType }) => coinType);
})();
const token = await chain.deploy("SecurityTokenV4", ["Acme Shares", "ACME", 6, 1_000_000]);
await chain.send(token, "setTransferGroup", [chain.wallet(1), 7, true]);
await chain.send(token, "createReleaseSchedule", [2, 60, 5_000, 3_600]);
await chain.send(token, "fundReleaseSchedule", [chain.wallet(1), 500, 1_000, 0, []]);
for (let n = 1; n <= 4; n += 1) await chain.send(token, "transfer", [chain.wallet(n), 10 * n]);

const assets = {
  projects: [
    {
      name: "acme",
      callbackUrl: `${receiver.url}/transfers`,
      tokens: [
        {
          name: "acme-sui",
          ledger: "sui",
          coinType: coinTypes[0],
          whitelistGroupId: 1,
          ta: { callbackUrl: `${receiver.url}/ta` },
        },
        {
          name: "acme-evm",
          ledger: "evm",
          network: "local",
          chainId: chain.chainId,
          rpc: [chain.url],
          address: token.address,
          type: "comakery_security_token_v4",
          finality: "latest",
          groups: { "7": "Reg A" },
        },
      ],
    },
  ],
};
const assetsFile = join(temporary.path, "assets.json");
await writeFile(assetsFile, JSON.stringify(assets));

const keys = {
  PII_KEYS: `made:${randomBytes(32).toString("base64")}`,
  CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
};
const settings = {
  ALLOW_PRIVATE_CALLBACKS: "true",
  CALLBACK_RETRY_SECONDS: "1,1,86400",
  DEMO_SEED: demo.seed,
  DEMO_STORY: "chance",
  DEMO_HISTORY: `${demo.history}`,
  DEMO_CHECKPOINTS_PER_SECOND: `${demo.checkpointsPerSecond}`,
  DEMO_INVESTORS: `${demo.investors}`,
  ...keys,
};
const here = {
  ...settings,
  DATABASE_URL: server.url,
  DATA_DIR: dataDir,
  ASSETS_FILE: assetsFile,
  PORT: "0",
};
const run = async (...args: readonly string[]) => {
  const { code, stdout, stderr } = await runProgram(args, here);
  if (code !== 0) throw new Error(`${args.join(" ")} ended with ${code}: ${stderr}`);
  return stdout.trim();
};
const graphqlKey = await run("keys", "create", "--kind", "graphql");
const projectKey = await run("keys", "create", "--kind", "project", "--project", "acme");
const pair = z
  .object({ secretKey: z.string() })
  .parse(JSON.parse(await run("keys", "create", "--kind", "ta", "--asset", "acme-sui")));
const { secretKey } = pair;

const requestIds: string[] = [];
const accepted = z.object({ requestId: z.string() });
const submit = async (
  url: string,
  kind: "whitelist" | "kyc",
  ...body: Parameters<typeof bodyOf>
) => {
  const answer = await postSigned(url, secretKey, `/api/v1/investor/${kind}`, bodyOf(...body));
  requestIds.push(accepted.parse(answer).requestId);
};
const wallet = () => `0x${randomBytes(32).toString("hex")}`;

/** Waits for a number that a statement tells. */
const counted = (what: string, statement: string, enough: (count: number) => boolean) =>
  eventually(what, async () => {
    const [row] = await database.sql.unsafe<{ count: number }[]>(statement);
    return enough(row?.count ?? -1) ? { done: row?.count } : { seen: row?.count };
  });

{
  await using program = startProgram(["start"], here);
  await program.sees(/Ctrl-C/);
  const [, url = ""] = await program.sees(/Health\s+(http\S+)\/health/);
  await counted(
    "the history",
    "select next_checkpoint::int4 as count from holder_lifecycle_watermark",
    (next) => next > HISTORY,
  );
  await submit(url, "whitelist", { id: "inv-1", blockchain_wallet: wallet() });
  await submit(url, "whitelist", { id: "inv-2", blockchain_wallet: wallet() });
  await submit(
    url,
    "whitelist",
    { id: "inv-3", blockchain_wallet: wallet() },
    { verifiedStatus: false },
  );
  await submit(url, "kyc", { id: "inv-1", blockchain_wallet: wallet() });
  await counted(
    "the end of every request",
    "select count(*)::int4 as count from ta_requests where status in ('QUEUED', 'PENDING')",
    (open) => open === 0,
  );
  await counted(
    "the end of every delivery",
    "select count(*)::int4 as count from callback_messages where status = 'pending'",
    (pending) => pending === 0,
  );
  refusing = true;
  await chain.send(token, "transfer", [chain.wallet(5), 50]);
  await submit(url, "kyc", { id: "inv-2", blockchain_wallet: wallet() });
  await counted(
    "deliveries that were tried and are not taken",
    `select count(distinct message_id)::int4 as count from callback_attempts
     join callback_messages m on m.id = message_id where m.status = 'pending'`,
    (pending) => pending === 2,
  );
  program.signal("SIGTERM");
  if ((await program.ended) !== 0) throw new Error(program.printed.stderr);
}

const callers = { graphqlKey, projectKey, secretKey, coinTypes, requestIds };
{
  await using serving = startProgram(["serve"], here);
  const [, url = ""] = await eventually("serving", async () => {
    const found = /"url":"(http[^"]+)"/.exec(serving.printed.stderr);
    return found ? { done: found } : { seen: serving.printed.stderr };
  });
  // No worker processes these: they stay open.
  await submit(url, "whitelist", { id: "inv-4", blockchain_wallet: wallet() });
  await submit(url, "kyc", { id: "inv-5", blockchain_wallet: wallet() });
  const answers = await answersOf(url, callers);
  await mkdir(folder, { recursive: true });
  const about = { madeAt: new Date().toISOString(), settings, assets, callers, answers };
  await writeFile(join(folder, "about.json"), `${JSON.stringify(about, null, 1)}\n`);
}
await writeFile(
  join(folder, "database.txt.gz"),
  gzipSync(await dumpOf(database.sql), { level: 9 }),
);
for (const name of await readdir(dataDir)) {
  if (/^demo-ledger.*\.jsonl?$/.test(name)) await copyFile(join(dataDir, name), join(folder, name));
}
await database.close();
await receiver.close();
await chain.stop();
await server.stop();
