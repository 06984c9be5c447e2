/** Runs Ponder over a chain, as its documentation says, and measures its time. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import postgres from "postgres";

const FOLDER = fileURLToPath(new URL("ponder", import.meta.url));

const DEADLINE_MS = 300_000;

export type PeerRun = {
  /** From its start to its last row. */
  readonly seconds: number;
  /** From its first query of the chain's logs, without start-up. */
  readonly indexingSeconds: number;
};

/** Installs if missing; the first time needs the registry. */
export const installPonder = async (): Promise<void> => {
  if (existsSync(`${FOLDER}/node_modules/ponder`)) return;
  const child = spawn("npm", ["install", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: FOLDER,
    stdio: ["ignore", "ignore", "inherit"],
  });
  const [code] = await once(child, "exit");
  if (code !== 0) throw new Error(`Ponder could not be installed (npm ended with ${code})`);
};

/** Indexes every Transfer of the token into an empty database. */
export const runPonder = async (settings: {
  readonly rpc: string;
  readonly token: string;
  readonly lastBlock: bigint;
  readonly databaseUrl: string;
  readonly rows: number;
}): Promise<PeerRun> => {
  const { rpc, token, lastBlock, databaseUrl, rows } = settings;
  await using sql = Object.assign(postgres(databaseUrl, { max: 1, onnotice: () => undefined }), {
    [Symbol.asyncDispose]: () => sql.end(),
  });
  const started = performance.now();
  const child = spawn(
    process.execPath,
    [
      `${FOLDER}/node_modules/ponder/dist/esm/bin/ponder.js`,
      "start",
      "--schema",
      "peer",
      "--port",
      "0",
      "--log-format",
      "json",
    ],
    {
      cwd: FOLDER,
      env: {
        PATH: process.env.PATH,
        HOME: process.env.HOME,
        PEER_RPC: rpc,
        PEER_TOKEN: token,
        PEER_LAST_BLOCK: `${lastBlock}`,
        DATABASE_URL: databaseUrl,
        PONDER_TELEMETRY_DISABLED: "true",
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let printed = "";
  let indexingFrom: number | undefined;
  const heard = (chunk: Buffer) => {
    printed += chunk.toString();
    if (indexingFrom === undefined && /backfill/i.test(printed)) indexingFrom = performance.now();
  };
  child.stdout.on("data", heard);
  child.stderr.on("data", heard);
  let code: number | null | undefined;
  child.once("exit", (ended) => {
    code = ended;
  });
  try {
    for (;;) {
      const [row] = await sql<{ count: number }[]>`
        select count(*)::int4 as count from peer.transfer`.catch(() => []);
      const now = performance.now();
      if ((row?.count ?? 0) >= rows) {
        return {
          seconds: (now - started) / 1_000,
          indexingSeconds: (now - (indexingFrom ?? started)) / 1_000,
        };
      }
      if (code !== undefined || now - started > DEADLINE_MS) {
        throw new Error(
          `Ponder made ${row?.count ?? 0} of ${rows} rows and ${code === undefined ? "went on" : `ended with ${code}`}:\n${printed.slice(-3_000)}`,
        );
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  } finally {
    child.kill("SIGTERM");
    if (code === undefined) await once(child, "exit");
  }
};
