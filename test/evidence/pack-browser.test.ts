// @module-tag alone
/** A pack of ten thousand movements, checked in a browser: the validators' signatures, chains, closure and conservation. */
import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { zipSync } from "fflate";
import mcl from "mcl-wasm";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { validatorsOf } from "../../client/mcl.ts";
import { verdictLines, verifyAuditPack } from "../../client/verify-audit-pack.ts";
import { writeDemoLedger } from "../../demo/write.ts";
import { createCheckpointReader } from "../../src/ledger/reading/read.ts";
import { readCheckpointFile } from "../../src/ledger/sources/chk-file.ts";
import { chromiumPath, openPage } from "../chromium.ts";
import { runCommand } from "../commands/run-command.ts";
import { freshDatabase } from "../postgres.ts";
import { follow } from "../service/following.ts";
import { temporaryFolder } from "../service/process.ts";
import { certificateOf } from "./certificates.ts";
import { filesIn, manifestOf, type PackInMemory } from "./packs.ts";

const ROOT = join(import.meta.dirname, "..", "..");
const CHECKPOINTS = 300;
const MOVEMENTS = 10_000;
const DEADLINE_MS = 5_000;
/** A page hashes eight MiB in this time on a machine for which the deadline holds; a slower one may take longer. */
const HASH_MS = 125;

const chromium = await chromiumPath();
const running = new AsyncDisposableStack();
let pack: PackInMemory;

beforeAll(async () => {
  const { path } = running.use(await temporaryFolder());
  const dir = join(path, "ledger");
  const chain = await writeDemoLedger({
    ...{ dir, checkpoints: CHECKPOINTS, seed: 5, format: "chk", epochLength: 100 },
    ...{ noise: 0, actionsPerCheckpoint: 160, investors: 200, commitsFrom: 0n },
  });
  const [{ coinType } = { coinType: "" }] = chain.coinTypes;
  const database = await freshDatabase();
  running.defer(() => database.close());
  const following = await follow(database, chain);
  const read = createCheckpointReader(chain.packages);
  let digest = "";
  for (let from = 0; from < CHECKPOINTS; from += 50) {
    const files = Array.from({ length: 50 }, (_, at) => join(dir, `${from + at}.chk`));
    const raws = await Promise.all(files.map((file) => readCheckpointFile(file)));
    digest = read(raws.at(-1) ?? expect.fail("no checkpoint")).mark.digest;
    await following.append(raws);
  }
  await following.project(10_000);
  const through = { checkpoint: `${CHECKPOINTS - 1}`, digest };
  const { chainId, packages } = chain;
  const masterKey = randomBytes(32).toString("base64");
  const of = { chainId, packages, coinType, through };
  const file = join(path, "certificate.json");
  await writeFile(file, JSON.stringify(await certificateOf(database, masterKey, of)));
  const out = join(path, "pack");
  const range = ["--from", "1", "--to", `${CHECKPOINTS - 1}`, "--certificate", file];
  const made = await runCommand(
    ["audit-pack", "--coin", coinType, ...range, "--no-papers", "--out", out],
    {
      DATABASE_URL: database.url,
      CALLBACK_MASTER_KEY: masterKey,
      LEDGER_SOURCE: `dir:${dir}`,
      COMMITTEE_FILE: join(dir, "ledger.json"),
    },
  );
  expect(made).toMatchObject({ code: 0, stderr: "" });
  pack = await filesIn(out);
  const { files } = await manifestOf(out);
  const excerpts = Object.keys(files).filter((name) => name.startsWith("checkpoints/"));
  expect(excerpts.length).toBeLessThanOrEqual(CHECKPOINTS);
  const lines = Buffer.from(pack.get("movements.ndjson") ?? [])
    .toString()
    .trimEnd()
    .split("\n");
  expect(lines.length).toBeGreaterThanOrEqual(MOVEMENTS);
  // As before `npm test`, but also where this file runs alone; does nothing when it is there.
  await promisify(execFile)(process.execPath, [join(ROOT, "bin", "client.mjs")]);
}, 400_000);
afterAll(() => running.disposeAsync());

test.skipIf(chromium === undefined)(
  "ten thousand movements over 300 checkpoints are verified in a browser within five seconds",
  // Other programs share the processors: a slow run is repeated.
  { retry: 2, timeout: 120_000 },
  async () => {
    const zip = zipSync(Object.fromEntries(pack), { level: 0 });
    const files: Readonly<Record<string, string>> = {
      "/mcl.js": join(ROOT, "node_modules", "mcl-wasm", "browser", "mcl.js"),
      "/client-mcl.js": join(ROOT, "client", "dist", "mcl.js"),
      "/fflate.js": join(ROOT, "node_modules", "fflate", "esm", "browser.js"),
    };
    await using server = createServer(async ({ url = "/" }, response) => {
      if (url === "/pack.zip") return response.end(zip);
      const name = /^\/([a-z0-9-]+\.m?js)$/.exec(url)?.[1];
      const path = files[url] ?? (name && join(ROOT, "client", "dist", name));
      response.setHeader("content-type", path === undefined ? "text/html" : "text/javascript");
      return response.end(path === undefined ? PAGE : await readFile(path));
    });
    using _closing = { [Symbol.dispose]: () => server.closeAllConnections() };
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const address = server.address();
    if (address === null || typeof address === "string") throw new Error("the server has no port");
    await using page = await openPage(chromium ?? "", `http://127.0.0.1:${address.port}/`);
    await page.until("globalThis.verified !== undefined");
    const found = z
      .object({ ms: z.number(), hashMs: z.number(), lines: z.array(z.string()) })
      .parse(JSON.parse(`${await page.evaluate("globalThis.verified")}`));
    const own = await verifyAuditPack(pack, { validators: await validatorsOf(mcl) });
    expect(found.lines).toEqual(verdictLines(own.verdict));
    expect(found.lines.join("\n")).toMatch(/by: closure: each of the \d+ transactions/);
    expect(found.lines.join("\n")).toMatch(/by: \d+ signatures of validators, each by/);
    expect(found.ms, "ms").toBeLessThan(DEADLINE_MS * Math.max(1, found.hashMs / HASH_MS));
  },
);

const PAGE = `<title>A page</title><script src="/mcl.js"></script><script type="module">
  import { unzipSync } from "/fflate.js";
  import { sha256 } from "/noble.mjs";
  import { verifyAuditPack, verdictLines } from "/verify-audit-pack.js";
  import { validatorsOf } from "/client-mcl.js";
  const unit = new Uint8Array(2 ** 20);
  const hashed = [1, 2, 3].map(() => {
    const start = performance.now();
    for (let times = 0; times < 8; times++) sha256(unit);
    return performance.now() - start;
  });
  const hashMs = Math.min(...hashed);
  const zip = new Uint8Array(await (await fetch("/pack.zip")).arrayBuffer());
  const files = Object.entries(unzipSync(zip)).map(([path, bytes]) => [path, new Blob([bytes])]);
  const start = performance.now();
  const validators = await validatorsOf(mcl);
  const lines = await verifyAuditPack(files, { validators }).then(
    ({ verdict }) => verdictLines(verdict), (error) => [String(error)]);
  globalThis.verified = JSON.stringify({ ms: Math.round(performance.now() - start), hashMs, lines });
</script>`;
