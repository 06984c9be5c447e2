/** `doctor` says what `start`, `index` and `serve` refuse: it runs their code. */
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { zstdCompressSync } from "node:zlib";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { z } from "zod";
import { createDemoLedger } from "../../../demo/demo-ledger.ts";
import { factSource } from "../../../src/log/log.ts";
import { startObjectStore } from "../../ledger/sources/object-store-server.ts";
import { freshDatabase } from "../../postgres.ts";
import { temporaryFolder } from "../../service/process.ts";
import { runCommand } from "../run-command.ts";

type Settings = Readonly<Record<string, string>>;

const findings = z.object({
  findings: z.array(z.object({ check: z.string(), state: z.string(), says: z.string() })),
});

/** What fails, as lines. */
const failing = async (settings: Settings, ...args: readonly string[]) => {
  const { stdout, stderr } = await runCommand(["doctor", "--json", ...args], settings);
  expect(stderr).toBe("");
  return findings
    .parse(JSON.parse(stdout))
    .findings.filter(({ state }) => state === "fail")
    .map(({ check, says }) => `${check}: ${says}`);
};

let folder = "";
const file = async (name: string, text: string) => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};

beforeAll(async () => {
  const made = await temporaryFolder();
  folder = made.path;
  return () => made[Symbol.asyncDispose]();
});

/** Nothing is behind it: what gets as far as the database has passed all checks. */
const DATABASE_URL = "postgres://u@127.0.0.1:1/none";

const evmToken = (name: string, network: string) => ({
  name,
  ledger: "evm",
  network,
  chainId: 43_113,
  rpc: ["http://127.0.0.1:1"],
  address: `0x${name.padStart(40, "0")}`,
  type: "comakery_security_token_v4",
  whitelistGroupId: 1,
});

const READERS = ["start", "index"] as const;
const ALL = [...READERS, "serve"] as const;

type Fault = {
  readonly what: string;
  readonly settings: () => Settings | Promise<Settings>;
  readonly says: RegExp;
  /** Which refuse it. */
  readonly by: readonly (typeof ALL)[number][];
};

const NODE = { LEDGER_SOURCE: "grpc+http://127.0.0.1:1", SECURITY_TOKEN_PACKAGES: "0x5" };

/** Every check of a start, with a fault that it finds. */
const FAULTS: readonly Fault[] = [
  {
    what: "packages without a source",
    settings: () => ({ SECURITY_TOKEN_PACKAGES: "0x5" }),
    says: /LEDGER_SOURCE: is not set, while SECURITY_TOKEN_PACKAGES is/,
    by: READERS,
  },
  {
    what: "a first checkpoint without a source",
    settings: () => ({ FIRST_CHECKPOINT: "5" }),
    says: /LEDGER_SOURCE: is not set, while FIRST_CHECKPOINT is/,
    by: ALL,
  },
  {
    what: "a source without packages",
    settings: () => ({ LEDGER_SOURCE: "grpc+http://127.0.0.1:1" }),
    says: /SECURITY_TOKEN_PACKAGES: must name the package/,
    by: READERS,
  },
  {
    what: "a source that is none",
    settings: () => ({ ...NODE, LEDGER_SOURCE: "grpc+http://127.0.0.1:1/path" }),
    says: /LEDGER_SOURCE=grpc\+http:\/\/127.0.0.1:1\/… must end after the host/,
    by: READERS,
  },
  {
    what: "a description of the ledger that cannot be read",
    settings: async () => {
      await mkdir(join(folder, "ledger"), { recursive: true });
      await file("ledger/ledger.json", "{}");
      return { LEDGER_SOURCE: `dir:${join(folder, "ledger")}` };
    },
    says: /ledger\.json/,
    by: READERS,
  },
  {
    what: "a committee that cannot be read",
    settings: () => ({ ...NODE, VERIFY: "signatures", COMMITTEE_FILE: "/nowhere.json" }),
    says: /the committee file cannot be read: ENOENT/,
    by: READERS,
  },
  {
    what: "a key on the demo ledger that is none",
    settings: () => ({ TA_SUI_KEY: "bad" }),
    says: /TA_SUI_KEY: /,
    by: READERS,
  },
  {
    what: "a key for EVM chains that is none",
    settings: () => ({ ...NODE, TA_EVM_KEY: "bad" }),
    says: /TA_EVM_KEY: /,
    by: READERS,
  },
  {
    what: "a signer without an address",
    settings: () => ({ ...NODE, TA_SIGNER_URL: "https://signer.example/sign" }),
    says: /TA_SIGNER_URL: needs TA_SUI_ADDRESS or TA_EVM_ADDRESS/,
    by: READERS,
  },
  {
    what: "a node for transactions that is none",
    settings: () => ({ ...NODE, TA_NODE: "grpc+https://user:word@node.example" }),
    says: /TA_NODE: must not hold a user or password/,
    by: READERS,
  },
  {
    what: "an assets file with a fault",
    settings: async () => ({ ASSETS_FILE: await file("faulty.json", '{"projects":[{}]}') }),
    says: /faulty\.json/,
    by: ALL,
  },
  {
    what: "tokens of one chain that disagree",
    settings: async () => {
      const tokens = [evmToken("1", "avalanche_fuji"), evmToken("2", "avalanche")];
      const projects = [{ name: "acme", tokens }];
      return { ASSETS_FILE: await file("networks.json", JSON.stringify({ projects })) };
    },
    says: /43113/,
    by: ALL,
  },
  {
    what: "a master key that is none",
    settings: () => ({ CALLBACK_MASTER_KEY: "bad" }),
    says: /CALLBACK_MASTER_KEY/,
    by: ALL,
  },
  {
    what: "keys of investors' data that are none",
    settings: () => ({ PII_KEYS: "bad" }),
    says: /PII_KEYS/,
    by: ALL,
  },
];

test.each(FAULTS)(
  "$what: doctor fails where a start refuses, with the same message",
  async ({ settings, says, by }) => {
    const given = {
      DATABASE_URL,
      PORT: "0",
      DATA_DIR: join(folder, "data"),
      ...(await settings()),
    };
    for (const service of ALL) {
      const refused = await runCommand([service], given);
      const told = await failing(given, "--for", service, "--only", "settings");
      const settingsTold = told.filter((line) => line.startsWith("settings: "));
      if (by.includes(service)) {
        expect(refused.code, service).not.toBe(0);
        expect(refused.stderr).toMatch(says);
        expect(settingsTold.join("\n")).toMatch(says);
      } else {
        expect(settingsTold, service).toEqual([]);
        // It gets as far as the database.
        expect(refused.stderr, service).toMatch(/DatabaseUnreachableError/);
      }
    }
  },
);

test("packages that the log does not know fail, as an index refuses them", async () => {
  await using database = await freshDatabase();
  const ledger = join(folder, "whole");
  const write = ["demo", "write", "--dir", ledger, "--checkpoints", "40", "--seed", "5"];
  expect((await runCommand(write, {})).code).toBe(0);
  const settings = { DATABASE_URL: database.url, LEDGER_SOURCE: `dir:${ledger}`, PORT: "0" };
  expect((await runCommand(["index", "--last", "39"], settings)).code).toBe(0);
  const {
    packages: [first = ""],
  } = await factSource(database).highWater();
  const unmet = { ...settings, SECURITY_TOKEN_PACKAGES: `${first},0x77` };
  const refused = await runCommand(["index", "--last", "39"], unmet);
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringMatching(/UnmetPackagesError/) });
  expect(await failing(unmet, "--only", "source")).toEqual([
    expect.stringMatching(
      /^source: SECURITY_TOKEN_PACKAGES names 0x0+77, but the log has met only/,
    ),
  ]);
  const other = { ...settings, SECURITY_TOKEN_PACKAGES: "0x77" };
  expect((await failing(other, "--only", "source")).join()).toMatch(
    /the log holds facts of the packages/,
  );
});

test("doctor explains why a source refuses connections; one answering source of several suffices", async () => {
  await using database = await freshDatabase();
  const gone = createServer().listen(0, "127.0.0.1");
  await once(gone, "listening");
  const address = gone.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  gone.close();
  await once(gone, "close");
  const base = { DATABASE_URL: database.url, SECURITY_TOKEN_PACKAGES: "0x5" };
  for (const LEDGER_SOURCE of [
    `http://127.0.0.1:${port}/archive`,
    `grpc+http://127.0.0.1:${port}`,
  ]) {
    const told = await failing({ ...base, LEDGER_SOURCE }, "--only", "source");
    expect(told).toEqual([expect.stringMatching(/^source: .*ECONNREFUSED/)]);
    expect(told.join()).not.toContain("archive");
  }
  const bytes = createDemoLedger({ seed: 5 }).next().raw("protobuf");
  await using store = await startObjectStore({ newest: 0n, object: () => zstdCompressSync(bytes) });
  const LEDGER_SOURCE = `grpc+http://127.0.0.1:${port} ${store.base.href}`;
  const listed = await runCommand(["doctor", "--only", "source"], { ...base, LEDGER_SOURCE });
  expect(listed.stdout).toMatch(/^warn {2}source .*ECONNREFUSED/m);
  expect(listed.stdout).toMatch(/^ok {4}source .*newest checkpoint 0$/m);
});

test("a METRICS_PORT already in use is named, by index and by doctor", async () => {
  await using database = await freshDatabase();
  const holder = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void holder.close());
  await once(holder, "listening");
  const address = holder.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const ledger = join(folder, "empty");
  await mkdir(ledger, { recursive: true });
  const settings = {
    DATABASE_URL: database.url,
    LEDGER_SOURCE: `dir:${ledger}`,
    SECURITY_TOKEN_PACKAGES: "0x5",
    METRICS_PORT: `${port}`,
    PORT: "0",
  };
  const { code, stderr } = await runCommand(["index"], settings);
  expect(code).toBe(1);
  expect(stderr).toMatch(new RegExp(`cannot listen on METRICS_PORT ${port} .*set METRICS_PORT to`));
  holder.unref();
  const elsewhere = { ...settings, HOST: "192.0.2.1", METRICS_PORT: "0", PORT: "4000" };
  expect((await failing(elsewhere, "--only", "port")).join()).toMatch(
    /PORT 4000 of HOST 192.0.2.1/,
  );
});
