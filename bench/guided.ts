/**
 * Guided reading of a ledger of mainnet's length: from an empty database to a register whose completeness is proven.
 * The node that lists and serves it runs in a process of its own on the same machine.
 */
import { spawn } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { type Figure, single } from "./figure.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, scratchPostgres } from "./start.ts";

const SERVER = fileURLToPath(new URL("../test/ledger/history/serve-lazy.ts", import.meta.url));
const CHECKPOINTS = 300_000_000;
const KIB = 170;

type Served = {
  readonly host: string;
  readonly packages: readonly string[];
  readonly coins: readonly { readonly coinType: string; readonly supply: string }[];
  readonly committee: readonly { readonly publicKey: string; readonly stake: string }[];
};

type Asked = {
  readonly requests: number;
  readonly checkpoints: number;
  readonly checkpointBytes: number;
};

/** Serves a ledger with so many checkpoints that hold the contract's transactions. */
const startNode = async (relevant: number) => {
  const options = JSON.stringify({ relevant, checkpoints: String(CHECKPOINTS) });
  const child = spawn(process.execPath, [SERVER, options], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<string> => {
    const line = await lines.next();
    if (line.done) throw new Error("the node ended");
    return line.value;
  };
  const served: Served = JSON.parse(await next());
  return {
    served,
    asked: async (): Promise<Asked> => {
      child.stdin.write("\n");
      return JSON.parse(await next());
    },
    [Symbol.dispose]: () => child.kill(),
  };
};

export const bench = async (setting?: string): Promise<readonly Figure[]> => {
  const relevant = Number(setting ?? 10_000);
  using node = await startNode(relevant);
  await using scratch = await scratchPostgres();
  const { database, url, folder } = scratch;
  const { host, packages, coins, committee } = node.served;
  const committeeFile = join(folder, "committee.json");
  await writeFile(committeeFile, JSON.stringify({ epoch: 0, members: committee }));
  const env = {
    DATABASE_URL: url,
    DATA_DIR: join(folder, "data"),
    LEDGER_SOURCE: `grpc+http://${host}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    COMMITTEE_FILE: committeeFile,
  };
  const last = String(CHECKPOINTS - 1);
  const read = await measuredRun(LAUNCHER, ["backfill", "--guided", "--to", last], env);
  const proven = await measuredRun(LAUNCHER, ["prove", "complete"], env);
  const { requests, checkpoints, checkpointBytes } = await node.asked();
  const [{ facts } = { facts: 0n }] = await database.sql<{ facts: bigint }[]>`
    select count(*) as facts from log_facts`;

  const allBytes = CHECKPOINTS * KIB * 1024;
  const millions = (CHECKPOINTS / 1e6).toFixed(0);
  return [
    {
      name: "time",
      what: `Guided reading of ${millions} million checkpoints: from an empty database to a proven register, the node on the same processors`,
      ...single("s", read.seconds + proven.seconds),
      ...{ better: "less", aim: 600 },
      detail:
        `${relevant.toLocaleString("en")} checkpoints hold transactions of the contract, ${facts.toLocaleString("en")} facts of ${coins.length} tokens; ` +
        `reading ${read.seconds.toFixed(0)} s and ${Math.round(read.mib)} MB, proof ${proven.seconds.toFixed(0)} s and ${Math.round(proven.mib)} MB; ` +
        `the node answered ${requests.toLocaleString("en")} lists`,
    },
    {
      name: "bytes",
      what: "Guided reading: bytes of a full reading / bytes that it fetches",
      ...single("ratio", allBytes / checkpointBytes),
      ...{ better: "more", aim: 1_000 },
      detail: `${checkpoints.toLocaleString("en")} checkpoints of ${Math.round(checkpointBytes / checkpoints / 1024)} KiB, ${(checkpointBytes / 1e9).toFixed(2)} GB of ${(allBytes / 1e12).toFixed(0)} TB`,
    },
  ];
};
