/** The register as files: the same as the commands write, bounded, and for keys that may read it. */
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, utimes, writeFile } from "node:fs/promises";
import { get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { unzipSync } from "fflate";
import { afterAll, beforeAll, expect, test } from "vitest";
import { verifyStatement } from "../../client/verify-statement.ts";
import { changeDeploymentKey } from "../../src/audit/sequence/key-change.ts";
import { outsideSigner } from "../../src/audit/sequence/outside-signer.ts";
import { publishedRootsOf } from "../../src/audit/sequence/published-roots.ts";
import { SequenceLostError } from "../../src/audit/sequence/sequence.ts";
import { createKey } from "../../src/http/keys.ts";
import { setLabels } from "../../src/labels/write.ts";
import { type DemoRegister, demoRegister } from "../audit/demo-register.ts";
import { entriesOf, loseEntries } from "../audit/sequence-entries.ts";
import { startSigner, TOKEN } from "../audit/signers.ts";
import { runCommand } from "../commands/run-command.ts";
import { readOcf } from "../evidence/ocf-package.ts";
import { until } from "../lanes/until.ts";
import { forgetDecimals } from "../log/decimals.ts";
import { MASTER_KEY, type OperatorApi, serveOperator } from "../operator/service.ts";
import { cancelFirst } from "../projections/damage.ts";

let register: DemoRegister;
let api: OperatorApi;
let coinType = "";

beforeAll(async () => {
  register = await demoRegister();
  await register.advance(300);
  api = await serveOperator(register.database);
  [coinType = ""] = register.model.coins.keys();
});

afterAll(async () => {
  await api[Symbol.asyncDispose]();
  await register[Symbol.asyncDispose]();
});

const path = (what: string, query: Readonly<Record<string, string>>) =>
  `/exports/${what}?${new URLSearchParams({ coinType, ...query })}`;

const command = async (...args: readonly string[]) => {
  const ran = await runCommand(["cap-table", "--coin", coinType, ...args], {
    DATABASE_URL: register.database.url,
  });
  expect(ran.code).toBe(0);
  return ran.stdout;
};

/** The demo's first token is ACME. */
const named = (rest: string) => `attachment; filename="ACME-cap-table-${rest}"`;

for (const [format, reader, type] of [
  ["csv", "people", "text/csv; charset=utf-8"],
  ["csv", "programs", "text/csv; charset=utf-8"],
  ["json", "programs", "application/json; charset=utf-8"],
] as const) {
  test(`a cap table as ${format} for ${reader} equals the command's output, byte for byte`, async () => {
    const asked = { format, for: reader, atCheckpoint: "250" };
    const reply = await api.get(path("cap-table", asked));
    expect(reply.status).toBe(200);
    expect(reply.text).toBe(await command("--format", format, "--for", reader, "--at", "250"));
    expect(reply.headers.get("content-type")).toBe(type);
    expect(reply.headers.get("content-disposition")).toBe(named(`250.${format}`));
  });
}

test("the default form has amounts as people write them, in CSV and in its archive", async () => {
  const csv = await api.get(path("cap-table", { atCheckpoint: "250" }));
  const [columns, first] = csv.text.split("\n");
  expect(columns).toBe(
    "holder_id,wallets,balance,tokens,unlocked,locked,share_percent,frozen,groups",
  );
  expect(first?.split(",")[2]).toMatch(/^\d+\.\d{6}$/);
  expect(csv.text).toBe(await command("--at", "250"));
  const reply = await api.get(path("cap-table", { format: "csv-zip", atCheckpoint: "250" }));
  expect(reply.headers.get("content-disposition")).toBe(named("250.zip"));
  const files = unzipSync(reply.bytes);
  const text = (name: string) => Buffer.from(files[name] ?? []).toString();
  expect(text("ACME-cap-table-250.csv")).toBe(csv.text);
  const json = await api.get(path("cap-table", { format: "json", atCheckpoint: "250" }));
  const { root, checkpointDigest } = json.json;
  expect(JSON.parse(text("ACME-cap-table-250-about.json"))).toMatchObject({
    root,
    checkpointDigest,
  });
});

test("labels are a last column for keys that see them, for programs on demand, and for no other key", async () => {
  const plain = await api.get(path("cap-table", { atCheckpoint: "250" }));
  const [, first = ""] = plain.text.split("\n");
  const [holderId = ""] = first.split(",");
  const label = { kind: "HOLDER", coinType, subject: holderId, isSealed: false } as const;
  await setLabels(register.database, undefined, [{ ...label, text: '=Doe, "Jane"' }], "jo");
  const seen = async (query: Record<string, string>, key = api.keys.labels) =>
    api.get(path("cap-table", { atCheckpoint: "250", ...query }), key);
  const people = (await seen({})).text.split("\n");
  expect(people.slice(0, 2)).toEqual([
    `${plain.text.split("\n")[0]},label`,
    // Not a formula of a spreadsheet.
    `${first},"'=Doe, ""Jane"""`,
  ]);
  for (const query of [{ labels: "false" }, { format: "json" }, { for: "programs" }]) {
    expect((await seen(query)).text).toBe((await seen(query, api.keys.operator)).text);
  }
  const programs = (await seen({ for: "programs", labels: "true" })).text;
  expect(programs).toMatch(/,share,label\n/);
  expect(programs).toContain("Jane");
  const refused = await seen({ labels: "true" }, api.keys.operator);
  expect(refused).toMatchObject({
    status: 403,
    text: expect.stringMatching(/does not see labels/),
  });
  expect((await seen({ format: "json", labels: "true" })).status).toBe(400);
  for (const key of [api.keys.operator, api.keys.graphql]) {
    expect((await seen({}, key)).text).toBe(plain.text);
  }
});

test("a download that Postgres cancels for others is made again, in the place that it has", async () => {
  await using own = await serveOperator(register.database);
  const whole = await api.get(path("cap-table", { format: "csv", atCheckpoint: "240" }));
  await using _cancelling = await cancelFirst(register.database, "membership_ranges", {
    code: "40001",
    times: 2,
  });
  const reply = await own.get(path("cap-table", { format: "csv", atCheckpoint: "240" }));
  expect([reply.status, reply.text]).toEqual([200, whole.text]);
});

test("a token of unknown decimals is offered to people nowhere, and to programs in its unit", async () => {
  const coin = [...register.model.coins.keys()][1] ?? "";
  await forgetDecimals(register.database, coin);
  for (const format of ["csv", "csv-zip"]) {
    const reply = await api.get(path("cap-table", { coinType: coin, format }));
    expect([reply.status, reply.json.details]).toEqual([
      409,
      expect.stringContaining(`the decimals of ${coin} are not known`),
    ]);
  }
  const settings = { DATABASE_URL: register.database.url };
  expect(await runCommand(["cap-table", "--coin", coin], settings)).toMatchObject({
    code: 1,
    stdout: "",
    stderr: expect.stringContaining("--for programs"),
  });
  const raw = await api.get(path("cap-table", { coinType: coin, for: "programs" }));
  expect(raw.text).toContain("\n# decimals,\n");
});

test("a cap table as Open Cap Format is one archive, complete and reproducible", async () => {
  const before = await leftovers();
  const reply = await api.get(path("cap-table", { format: "ocf", atCheckpoint: "250" }));
  expect(reply.status).toBe(200);
  expect(reply.headers.get("content-disposition")).toBe(named("250.ocf.zip"));
  const folder = await mkdtemp(join(tmpdir(), "holderbook-unzipped-"));
  for (const [name, bytes] of Object.entries(unzipSync(reply.bytes))) {
    await writeFile(join(folder, name), bytes);
  }
  const { transactions, manifest } = await readOcf(folder);
  expect(transactions.length).toBeGreaterThan(10);
  expect(manifest.comments.join()).toContain("lots: fifo");
  await rm(folder, { recursive: true });
  const again = await api.get(path("cap-table", { format: "ocf", atCheckpoint: "250" }));
  expect(again.bytes.equals(reply.bytes)).toBe(true);
  const other = await api.get(
    path("cap-table", { format: "ocf", atCheckpoint: "250", lots: "pro-rata" }),
  );
  expect(other.headers.get("content-disposition")).toBe(named("250-pro-rata.ocf.zip"));
  const manifestOf = Buffer.from(unzipSync(other.bytes)["Manifest.ocf.json"] ?? []).toString();
  expect(manifestOf).toContain("lots: pro-rata");
  await until("nothing left behind", leftovers, (left) => left.length <= before.length);
});

test("leftover downloads of a killed process are removed once another one serves", async () => {
  const [old, young] = await Promise.all(
    [1, 2].map(() => mkdtemp(join(tmpdir(), "holderbook-ocf-"))),
  );
  if (old === undefined || young === undefined) throw new Error("no folders");
  const anHourAgo = Date.now() / 1_000 - 3_600;
  await utimes(old, anHourAgo, anHourAgo);
  await using _other = await serveOperator(register.database);
  await until(
    "the old one to go",
    () => existsSync(old),
    (isThere) => !isThere,
  );
  // Somebody may still be sending it.
  expect(existsSync(young)).toBe(true);
  await rm(young, { recursive: true });
});

const leftovers = async () =>
  (await readdir(tmpdir())).filter((name) => name.startsWith("holderbook-ocf-"));

test("a statement verifies, for a holder and for any of its wallets", async () => {
  const table = await api.get(path("cap-table", { format: "json", atCheckpoint: "250" }));
  const { rows } = table.json as { rows: { holderId: string; wallets: { address: string }[] }[] };
  const row = rows.find(({ holderId }) => holderId !== null);
  const holderId = row?.holderId ?? "";
  const ofHolder = await api.get(path("statement", { holderId, atCheckpoint: "250" }));
  expect(ofHolder.status).toBe(200);
  expect(ofHolder.headers.get("content-disposition")).toContain(`-250-holder-${holderId}.json"`);
  const statement = verifyStatement(JSON.parse(ofHolder.text));
  expect(statement.row.holderId).toBe(holderId);
  for (const { address: owner } of row?.wallets ?? []) {
    const ofWallet = await api.get(path("statement", { owner, atCheckpoint: "250" }));
    expect(verifyStatement(JSON.parse(ofWallet.text)).root).toBe(statement.root);
  }
});

test("a statement over HTTP is of version 1 by default: a caller's program may know no other", async () => {
  const table = await api.get(path("cap-table", { format: "json", atCheckpoint: "251" }));
  const { rows } = table.json as { rows: { wallets: { address: string }[] }[] };
  const owner = rows[0]?.wallets[0]?.address ?? "";
  const made = async (query: Readonly<Record<string, string>>) => {
    const found = await api.get(path("statement", { owner, atCheckpoint: "251", ...query }));
    return verifyStatement(JSON.parse(found.text));
  };
  const [unsaid, one, two] = [
    await made({}),
    await made({ version: "1" }),
    await made({ version: "2" }),
  ];
  expect([unsaid, one.version, two.version]).toEqual([one, 1, 2]);
  expect([two.row, two.total]).toEqual([one.row, one.total]);
  const other = await api.get(path("statement", { owner, atCheckpoint: "251", version: "3" }));
  expect([other.status, other.json.details]).toEqual([400, expect.stringContaining("version")]);
});

test("a key publishes a bounded number of new roots a day; beyond it nothing is signed, and published roots stay free", async () => {
  await using bounded = await serveOperator(register.database, { rootsPerDay: 2 });
  const table = await bounded.get(path("cap-table", { format: "json", atCheckpoint: "200" }));
  const { rows } = table.json as { rows: { wallets: { address: string }[] }[] };
  const owner = rows[0]?.wallets[0]?.address ?? "";
  const ask = async (atCheckpoint: string, key?: string) =>
    bounded.get(path("statement", { owner, atCheckpoint }), key);
  const published = async () => {
    const found = await publishedRootsOf(register.database, { coinType, limit: 1_000 });
    return found.map(({ checkpoint }) => checkpoint);
  };
  const statuses = async (...checkpoints: string[]) => {
    const found = [];
    for (const checkpoint of checkpoints) found.push((await ask(checkpoint)).status);
    return found;
  };
  expect(await statuses("201", "201", "202", "201", "202")).toEqual([200, 200, 200, 200, 200]);
  const before = await published();
  expect(before).toEqual(expect.arrayContaining(["202", "201"]));
  const over = await ask("203");
  expect([over.status, over.json.details]).toEqual([429, expect.stringContaining("ROOTS_PER_DAY")]);
  const seconds = Number(over.headers.get("retry-after"));
  expect(seconds).toBeGreaterThan(0);
  expect(seconds).toBeLessThanOrEqual(86_400);
  expect(await published()).toEqual(before);
  expect(await statuses("202", "250")).toEqual([200, 200]);

  // Many at once are no way around it, and another key has a day of its own.
  const atOnce = await Promise.all(["204", "205", "206"].map((one) => ask(one)));
  expect(atOnce.map(({ status }) => status)).toEqual([429, 429, 429]);
  expect((await ask("203", bounded.keys.graphql)).status).toBe(200);
  expect(await statuses("203")).toEqual([200]);
});

test("unanswerable requests are refused with the reason", async () => {
  const refusals: readonly (readonly [string, number, string])[] = [
    [path("cap-table", { atCheckpoint: "999999" }), 409, "is not indexed yet"],
    [path("cap-table", { atCheckpoint: "1", atTimestamp: "1" }), 400, "not both"],
    [path("cap-table", { atTimestamp: "1" }), 400, "before the log begins"],
    [path("cap-table", { atTimestamp: "999999999999" }), 409, "is indexed yet"],
    [path("cap-table", { format: "xls" }), 400, "format: must be csv, csv-zip, json, ocf or pdf"],
    [path("cap-table", { format: "ocf", lots: "lifo" }), 400, "lots: must be fifo or pro-rata"],
    [path("cap-table", { lots: "fifo" }), 400, "lots: only the format ocf has lots"],
    [path("cap-table", { for: "me" }), 400, "for: must be people or programs"],
    [path("cap-table", { format: "json", for: "people" }), 400, "json is for programs alone"],
    [path("cap-table", { format: "csv-zip", for: "programs" }), 400, "csv-zip is for people alone"],
    [path("cap-table", { coinType: "nonsense" }), 400, "coinType: is"],
    [path("cap-table", { coinType: "0x9::no::SUCH" }), 404, "was seen"],
    ["/exports/cap-table", 400, "coinType"],
    [path("statement", {}), 400, "give either owner or holderId"],
    [path("statement", { owner: "0x1", holderId: "1" }), 400, "give either owner or holderId"],
    [path("statement", { owner: "someone" }), 400, "owner: is"],
    [path("statement", { holderId: "99999999" }), 404, "it has no statement"],
  ];
  for (const [asked, status, said] of refusals) {
    const reply = await api.get(asked);
    expect([reply.status, reply.json.details], asked).toEqual([
      status,
      expect.stringContaining(said),
    ]);
  }
});

test("keys of the kinds graphql and operator read it, other kinds and callers without a key do not", async () => {
  const asked = path("cap-table", { atCheckpoint: "250" });
  expect((await api.get(asked, api.keys.graphql)).status).toBe(200);
  expect((await api.get(asked, null)).status).toBe(401);
  const { secret } = await createKey(register.database, { kind: "project", subject: "acme" });
  expect((await api.get(asked, secret)).status).toBe(403);
  const head = await fetch(`${api.url}${asked}`, { method: "HEAD" });
  expect([head.status, head.headers.get("allow")]).toEqual([405, "GET"]);
});

test("callers who hang up free their room and their files", async () => {
  const before = await leftovers();
  const asked = new URL(path("cap-table", { format: "ocf", atCheckpoint: "299" }), api.url);
  for (let n = 0; n < 8; n += 1) {
    await new Promise<void>((resolve) => {
      const request = get(asked, { headers: { "x-api-key": api.keys.operator } });
      request.on("error", () => undefined);
      request.on("close", () => resolve());
      setTimeout(() => request.destroy(), n * 15);
    });
  }
  const reply = await api.get(path("cap-table", { format: "ocf", atCheckpoint: "299" }));
  expect(reply.status).toBe(200);
  await until("nothing left behind", leftovers, (left) => left.length <= before.length);
  // To hang up is no error of ours.
  expect(api.log.filter((line) => /"level":[56]0/.test(line))).toEqual([]);
});

test("two downloads of a key are built at a time, and only some wait", async () => {
  const asked = path("cap-table", { format: "ocf", atCheckpoint: "298" });
  const replies = await Promise.all(Array.from({ length: 12 }, () => api.get(asked)));
  const refused = replies.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(0);
  expect(replies.filter(({ status }) => status === 200).length).toBeGreaterThan(1);
  expect(refused[0]?.headers.get("retry-after")).toBe("1");
});

test("while the signer of the deployment's key is away a statement gets 503 with Retry-After", async () => {
  await using running = await startSigner();
  const { url, publicKey } = running;
  const signer = outsideSigner({ url, publicKey, token: TOKEN });
  const sealed = async () => MASTER_KEY;
  const change = { masterKey: sealed, nextMasterKey: sealed };
  await changeDeploymentKey(register.database, { ...change, signer });
  await using own = await serveOperator(register.database, { signer });
  const table = await own.get(path("cap-table", { format: "json", atCheckpoint: "255" }));
  const { rows } = table.json as { rows: { wallets: { address: string }[] }[] };
  const owner = rows[0]?.wallets[0]?.address ?? "";
  const ask = () => own.get(path("statement", { owner, atCheckpoint: "255", version: "2" }));
  await running.stop();
  const away = await ask();
  expect(away).toMatchObject({ status: 503, text: expect.stringContaining("does not answer") });
  expect(away.headers.get("retry-after")).toBe("10");
  expect(away.text).not.toContain(new URL(url).host);
  await running.start();
  await until("a statement that is signed", ask, ({ status }) => status === 200);
  // Back to a sealed key, which the other tests sign with.
  const before = { url, token: TOKEN };
  await changeDeploymentKey(register.database, { ...change, signer: undefined, before });
});

// The last one: nothing is signed in this database any more.
test("a statement is refused, and the process asked to stop, when the database lost a published entry", async () => {
  const lost: Error[] = [];
  await using own = await serveOperator(register.database, {
    giveUp: (error) => lost.push(error),
  });
  const table = await own.get(path("cap-table", { format: "json", atCheckpoint: "260" }));
  const { rows } = table.json as { rows: { wallets: { address: string }[] }[] };
  const owner = rows[0]?.wallets[0]?.address ?? "";
  const ask = (atCheckpoint: string) =>
    own.get(path("statement", { owner, atCheckpoint, version: "2" }));
  for (const at of ["260", "261", "262"]) expect((await ask(at)).status).toBe(200);
  await loseEntries(register.database, 2);
  await expect(ask("263")).rejects.toThrow(/: 500; /);
  expect(lost).toEqual([expect.any(SequenceLostError)]);
  expect(await entriesOf(register.database.sql)).toHaveLength(2);
});
