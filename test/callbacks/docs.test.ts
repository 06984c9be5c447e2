import { execFile, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { canonicalJson } from "holderbook/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { signatureHeaders } from "../../src/callbacks/signature.ts";
import { openSigningKeys } from "../../src/callbacks/signing-keys.ts";
import { freshDatabase, type TestDatabase } from "../postgres.ts";
import { freePort } from "../queue/redis-server.ts";
import { until } from "../queue/until.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../../", import.meta.url));

const page = await readFile(join(root, "docs", "callbacks.md"), "utf8");

/** The first code block of a language. */
const example = (language: string): string => {
  const found = new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "s").exec(page)?.[1];
  if (found === undefined) throw new Error(`docs/callbacks.md has no ${language} example`);
  return found;
};

const present = (program: string, ...args: string[]) =>
  run(program, args).then(
    () => true,
    () => false,
  );

const masterKey = randomBytes(32);
const amount = 2n ** 96n;
const body = canonicalJson({ amount, id: 1042 });
const id = "te_8f2a41c07be93d65a1f0c4e7b82d9635e0a7c1d4";

let database: TestDatabase;
let folder: string;
let headers: Readonly<Record<string, string>>;
let publicKeys: readonly string[];
let service: { readonly url: string; close(): void };

beforeAll(async () => {
  database = await freshDatabase();
  folder = await mkdtemp(join(tmpdir(), "holderbook-docs-"));
  const keys = await openSigningKeys(database, masterKey);
  const listed = await keys.publicKeys();
  publicKeys = listed.keys.map(({ publicKey }) => publicKey);
  headers = signatureHeaders(await keys.current(), { id, body }, new Date());
  const server = createServer(async (_request, response) => {
    response.end(JSON.stringify(await keys.publicKeys()));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  service = { url: `http://127.0.0.1:${port}`, close: () => server.close() };
});

afterAll(async () => {
  service.close();
  await database.close();
  await rm(folder, { recursive: true, force: true });
});

test("the TypeScript example receives a callback, acts once, and refuses a forged one", async () => {
  const installed = join(folder, "node_modules", "holderbook");
  await mkdir(installed, { recursive: true });
  await cp(join(root, "package.json"), join(installed, "package.json"));
  await cp(join(root, "src", "client"), join(installed, "src", "client"), { recursive: true });
  await writeFile(join(folder, "receiver.mts"), example("ts"));
  const port = await freePort();
  const receiver = spawn(
    process.execPath,
    ["--disable-warning=ExperimentalWarning", "receiver.mts"],
    {
      cwd: folder,
      env: { HOLDERBOOK_URL: service.url, PORT: String(port) },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let said = "";
  receiver.stdout.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  receiver.stderr.on("data", (chunk: Buffer) => {
    said += chunk.toString();
  });
  const post = (text: string) =>
    fetch(`http://127.0.0.1:${port}/`, { method: "POST", headers, body: text }).then(
      ({ status }) => status,
      () => said,
    );
  try {
    await until(
      "the example to receive",
      () => post(body),
      (status) => status === 204,
    );
    expect(await post(body)).toBe(204);
    expect(await post(body.replace("1042", "1043"))).toBe(401);
    await until(
      "what the example prints",
      () => said,
      (text) => text.includes("fits any of"),
    );
    expect(said.match(/te_8f2a41c07be93d65a1f0c4e7b82d9635e0a7c1d4 \{/g)).toHaveLength(1);
    expect(said).toContain(`${amount}n`);
  } finally {
    receiver.kill("SIGKILL");
  }
});

const python = await present("python3", "-c", "import cryptography");
if (!python) console.warn("no python3 with cryptography: the Python example is skipped");

test.skipIf(!python)(
  "the Python example verifies a callback and refuses a forged one",
  async () => {
    await writeFile(join(folder, "verify.py"), example("python"));
    const verify = (text: string) => {
      const verifying = run("python3", [join(folder, "verify.py")]);
      verifying.child.stdin?.end(JSON.stringify({ headers, body: text, publicKeys }));
      return verifying;
    };
    expect((await verify(body)).stdout).toBe(`${amount}\n`);
    await expect(verify(body.replace("1042", "1043"))).rejects.toThrow("no signature fits");
  },
);

const openssl = (await present("openssl", "version")) && (await present("curl", "--version"));
if (!openssl) console.warn("no curl or openssl: their example is skipped");

test.skipIf(!openssl)(
  "the curl and openssl example verifies a callback and refuses a forged one",
  async () => {
    const verify = async (text: string) => {
      await writeFile(join(folder, "body.json"), text);
      const env = {
        PATH: process.env.PATH,
        HOLDERBOOK_URL: service.url,
        WEBHOOK_ID: headers["webhook-id"],
        WEBHOOK_TIMESTAMP: headers["webhook-timestamp"],
        WEBHOOK_SIGNATURE: headers["webhook-signature"],
      };
      return run("sh", ["-c", example("sh")], { cwd: folder, env });
    };
    expect((await verify(body)).stdout).toContain("Signature Verified Successfully");
    await expect(verify(body.replace("1042", "1043"))).rejects.toThrow();
  },
);

test.skipIf(!openssl)(
  "what the page says about renewing the signing key can be done as it stands, beside a running service",
  async () => {
    const section = page.split("### Renewing the signing key")[1] ?? "";
    const [, commands = ""] = /```sh\n(.*?)```/s.exec(section) ?? [];
    const env = {
      PATH: process.env.PATH,
      HOME: process.env.HOME,
      HOLDERBOOK_URL: service.url,
      DATABASE_URL: database.url,
      CALLBACK_MASTER_KEY: masterKey.toString("base64"),
    };
    const { stdout } = await run("sh", ["-e", "-c", commands], { cwd: root, env });
    expect(stdout).toContain('"notAfter":"');
    const shown = async () => (await fetch(`${service.url}/api/v1/callback_pk`)).json();
    const listed = await until(
      "both keys in the list",
      async () => z.object({ keys: z.array(z.unknown()) }).parse(await shown()).keys,
      (keys) => keys.length === 2,
    );
    expect(stdout).toContain(JSON.stringify(listed));
  },
  60_000,
);
