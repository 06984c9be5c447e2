// @module-tag thorough
/** A service whose node hides a transaction: its token is refused with object and version, all others are served. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { z } from "zod";
import { runCommand } from "../commands/run-command.ts";
import { factsOfContract } from "../ledger/guided/facts-found.ts";
import { hiding } from "../ledger/history/hiding.ts";
import { startListServer } from "../ledger/history/list-server.ts";
import { listedDemo } from "../ledger/history/listed-demo.ts";
import { twoRoles } from "../two-roles.ts";
import { eventually, startProgram, temporaryFolder } from "./process.ts";

const NEWEST = 399n;
const ledger = listedDemo({ seed: 5, epochLength: 150, noise: 0.4 }, Number(NEWEST) + 1);
const { demo } = ledger;
const facts = factsOfContract(ledger);

const quarantined = z.object({
  extensions: z.object({
    code: z.string(),
    coinType: z.string().default(""),
    pipeline: z.string().default(""),
    checkpoint: z.string().default(""),
    reason: z.string().default(""),
  }),
});
type Refusal = z.infer<typeof quarantined>["extensions"];

const answer = z.object({
  data: z.record(z.string(), z.unknown()).nullish(),
  errors: z.array(quarantined).optional(),
});

/** A checkpoint in the middle that changes objects of one token alone, which change again later. */
const hiddenOf = () => {
  for (const { checkpoint, coinType, txDigest } of facts) {
    if (checkpoint < 150n || coinType === null) continue;
    const inside = facts.filter((fact) => fact.checkpoint === checkpoint);
    const changed = inside.flatMap((fact) => (fact.kind === "object" ? [fact.objectId] : []));
    const later = facts.some(
      (fact) =>
        fact.kind === "object" && fact.checkpoint > checkpoint && changed.includes(fact.objectId),
    );
    // It makes no object: of one that it made nothing would show since when it is missing.
    const isOld = inside.every((fact) => fact.kind !== "object" || fact.versionBefore !== null);
    if (later && isOld && inside.every((fact) => fact.coinType === coinType)) {
      return { coinType, ...hiding(ledger, txDigest, facts) };
    }
  }
  throw new Error("no checkpoint changes one token alone");
};

/** A service starts, reads, proves and is asked, beside other tests. */
const PATIENCE_MS = 180_000;

test(
  "a token of which the node hides a transaction is refused with object and version, and others are served",
  async () => {
    const { coinType, checkpoint: hidden, objects, everywhere } = hiddenOf();
    const [other = ""] = demo.coinTypes
      .map((coin) => coin.coinType)
      .filter((one) => one !== coinType);
    await using folder = await temporaryFolder();
    await using node = await startListServer(ledger, { lies: everywhere });
    await using roles = await twoRoles(inject("postgresUrl"));
    const committee = join(folder.path, "committee.json");
    const members = demo.committee.members.map(({ publicKey, stake }) => ({
      publicKey: Buffer.from(publicKey).toString("base64"),
      stake: `${stake}`,
    }));
    await writeFile(committee, JSON.stringify({ epoch: Number(demo.committee.epoch), members }));
    const settings = {
      ...roles.settings,
      CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
      LEDGER_SOURCE: `grpc+http://${node.host}`,
      SECURITY_TOKEN_PACKAGES: demo.packages[0] ?? "",
      READING: "guided",
      COMMITTEE_FILE: committee,
      DATA_DIR: join(folder.path, "data"),
    };
    await using service = startProgram(["start"], settings);
    const [, url = ""] = await service.sees(/GraphQL +(http:\S+)\/graphql/);
    const made = await runCommand(["keys", "create", "--kind", "graphql"], settings);
    const key = made.stdout.trim().split("\n").at(-1) ?? "";
    const ask = async (query: string) => {
      const response = await fetch(`${url}/graphql`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": key },
        body: JSON.stringify({ query }),
      });
      return answer.parse(await response.json());
    };
    const table = (coin: string, at = "") =>
      `{ capTable(coinType: "${coin}"${at}) { root issued totalSupply } }`;

    /** Object and version that a refusal names. */
    const named = ({ reason }: Refusal) => {
      const [, object = "", version = ""] = /^object (0x\w+), version (\d+): /.exec(reason) ?? [];
      expect([...objects], reason).toContain(object);
      return `object ${object}, version ${version}`;
    };
    const refusal = await eventually("an answer about the token", async () => {
      const seen = await ask(table(coinType));
      const [error] = seen.errors ?? [];
      // Before its first rows there is no table; never is there one without the hidden transaction.
      expect(seen.data?.capTable ?? null).toBeNull();
      return error?.extensions.code === "QUARANTINED" ? { done: error.extensions } : { seen };
    });
    expect(refusal).toMatchObject({ coinType, pipeline: "completeness" });
    named(refusal);
    // Known before any proof: the last change of the object before the missing one.
    const [holds = ""] = / (0x\w+),/.exec(refusal.reason) ?? [];
    const lastKnown = facts
      .filter(
        (fact) =>
          fact.kind !== "event" && holds.includes(fact.objectId) && fact.checkpoint < hidden,
      )
      .at(-1);
    expect(BigInt(refusal.checkpoint)).toBe((lastKnown?.checkpoint ?? -1n) + 1n);
    await eventually("the register", async () => {
      const { data } = await ask("{ _meta { checkpoint } }");
      const reached = z.object({ checkpoint: z.string().nullable() }).parse(data?._meta);
      return reached.checkpoint === `${NEWEST}` ? { done: true } : { seen: reached };
    });

    // The proof says from where on.
    const proof = await runCommand(["prove", "complete"], settings);
    expect(proof.code, proof.stderr).toBe(1);
    expect(proof.stdout).toContain(`${coinType} is INCOMPLETE`);
    const [proven] = (await ask(table(coinType))).errors ?? [];
    const { extensions: shown } = quarantined.parse(proven);
    expect(proof.stdout).toContain(named(shown));
    const from = BigInt(shown.checkpoint);
    expect(from).toBeLessThanOrEqual(hidden);
    const before = await ask(table(coinType, `, atCheckpoint: "${from - 1n}"`));
    expect(before.errors).toBeUndefined();

    const { data } = await ask(table(other));
    expect(data?.capTable).toMatchObject({ root: expect.stringMatching(/^[0-9a-f]{64}$/) });
    const meta = await ask("{ _meta { readFrom completeThrough } }");
    expect(meta.data?._meta).toMatchObject({ readFrom: "GUIDED" });

    // Nothing of it is signed or handed out as a file.
    const file = `${url}/exports/cap-table?${new URLSearchParams({ coinType })}`;
    const download = await fetch(file, { headers: { "x-api-key": key } });
    expect([download.status, await download.text()]).toEqual([
      409,
      expect.stringContaining(named(shown)),
    ]);
    const status = await runCommand(["status"], settings);
    expect(status.stdout).toContain("read guided; not proven complete");
    expect(status.stdout).toContain(
      `${coinType} is incomplete from checkpoint ${from} on: ${named(shown)}`,
    );
    const command = await runCommand(["cap-table", "--coin", coinType], settings);
    expect([command.code, command.stderr]).toEqual([
      1,
      expect.stringContaining("is incomplete from"),
    ]);
  },
  PATIENCE_MS,
);
