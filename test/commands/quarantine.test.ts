/** `holderbook quarantine`, as an operator uses it on a token with a fact that cannot be applied. */
import { expect, test } from "vitest";
import { allActs } from "../../src/audit/sequence/acts.ts";
import type { Fact } from "../../src/log/fact.ts";
import { factSource } from "../../src/log/log.ts";
import { keepProof } from "../audit/complete-proofs.ts";
import { changeContents } from "../log/damage.ts";
import {
  cutShort,
  isOfAcme,
  LAST,
  objects,
  project,
  withHistory,
} from "../pipelines/held-history.ts";
import { ACME, BETA } from "../pipelines/token-facts.ts";
import type { TestDatabase } from "../postgres.ts";
import { projectedRows } from "../projections/projected-rows.ts";
import { runCommand } from "./run-command.ts";

/** A register whose log has one token of ACME cut short, and what was there before. */
const held = async () => {
  let sound: Fact | undefined;
  const setup = await withHistory((fact) => {
    if (fact.kind === "removal" || !isOfAcme(4n)(fact)) return fact;
    sound = fact;
    return { ...fact, contents: cutShort(fact.contents) };
  });
  const { database } = setup;
  await project(database, factSource(database), 100);
  const quarantine = (...args: readonly string[]) =>
    runCommand(["quarantine", ...args], { DATABASE_URL: database.url });
  const mend = async () => {
    if (sound === undefined || sound.kind !== "object") throw new Error("no token of ACME there");
    await changeContents(database, sound);
  };
  return { ...setup, quarantine, mend };
};

const actsOf = async ({ sql }: TestDatabase) => {
  const acts = [];
  for await (const { command, details, coinType } of allActs(sql)) {
    acts.push({ command, details, coinType });
  }
  return acts;
};

const retry = {
  command: "quarantine retry",
  details: { pipeline: objects.name },
  coinType: ACME,
};

test("a token in quarantine is listed and shown with its fact, reason and waiting facts", async () => {
  await using setup = await held();
  const { quarantine } = setup;
  const listed = await quarantine("list");
  expect(listed).toMatchObject({ code: 0, stderr: "" });
  expect(listed.stdout).toMatch(
    new RegExp(
      `^${ACME}: shared_token_objects from checkpoint 4, transaction Tx4x0, since \\S+Z; \\d+ facts wait: .*cannot read the object`,
    ),
  );
  const [one, ...others] = JSON.parse((await quarantine("list", "--json")).stdout);
  expect(others).toEqual([]);
  const fact = { checkpoint: "4", transaction: 0, kind: "object", index: 0, txDigest: "Tx4x0" };
  expect(one).toMatchObject({ coinType: ACME, pipeline: objects.name, from: "4", fact });
  const shown = await quarantine("show", ACME);
  expect(shown.stdout).toContain("held        from checkpoint 4 on, since ");
  expect(shown.stdout).toContain("released    not yet");
  expect(await quarantine("show", BETA)).toMatchObject({
    code: 0,
    stdout: "",
    stderr: `${BETA} never was in quarantine\n`,
  });
});

test("a retry says which fact still cannot be applied, and releases the token once the log is mended", async () => {
  await using setup = await held();
  const { database, quarantine, mend } = setup;
  const early = await quarantine("retry", ACME);
  expect(early).toMatchObject({ code: 1, stderr: "" });
  expect(early.stdout).toMatch(/^shared_token_objects: still held from checkpoint 4 on: .*cannot/);
  await mend();
  const released = await quarantine("retry", ACME);
  expect(released).toMatchObject({ code: 0, stdout: "shared_token_objects: released\n" });
  await using undisturbed = await withHistory();
  await project(undisturbed.database, factSource(undisturbed.database), 100);
  expect(await projectedRows(database)).toEqual(await projectedRows(undisturbed.database));
  expect(await actsOf(database)).toEqual([retry, retry]);

  expect((await quarantine("list")).stderr).toBe("no token is in quarantine\n");
  const shown = (await quarantine("show", ACME)).stdout;
  expect(shown).toContain("retries     2\n");
  expect(shown).toContain(`with the facts up to checkpoint ${LAST}\n`);
  const again = await quarantine("retry", ACME);
  expect(again.code).toBe(2);
  expect(again.stderr).toContain(`${ACME} is not in quarantine`);
});

test("an incomplete token is listed and shown beside those in quarantine, and a retry says what to do instead", async () => {
  await using setup = await held();
  const { database, quarantine } = setup;
  const why = "nothing that was read wrote it";
  const missing = { objectId: "0x7", version: "17", from: "3", why };
  await keepProof(database, { through: LAST, incomplete: [{ ...missing, coinType: BETA }] });
  const reason = `object 0x7, version 17: ${why}`;
  const listed = (await quarantine("list")).stdout.split("\n");
  expect(listed).toContainEqual(expect.stringContaining(`${ACME}: shared_token_objects from`));
  expect(listed).toContainEqual(
    expect.stringMatching(
      new RegExp(`${BETA}: incomplete from checkpoint 3, since \\S+Z; ${reason}$`),
    ),
  );
  const [, one] = JSON.parse((await quarantine("list", "--json")).stdout);
  expect(one).toMatchObject({ coinType: BETA, pipeline: "completeness", from: "3", reason });
  const shown = (await quarantine("show", BETA)).stdout;
  expect(shown).toContain("incomplete  from checkpoint 3 on, since ");
  expect(shown).toContain(`holderbook prove complete --coin '${BETA}'`);
  for (const command of [["retry"], ["resolve", "--by", "Jane Roe", "--because", "a test"]]) {
    const refused = await quarantine(...command, BETA);
    expect(refused).toMatchObject({ code: 2, stdout: "" });
    expect(refused.stderr).toContain(`${BETA} is incomplete from checkpoint 3 on: ${reason}`);
    expect(refused.stderr).toContain(`holderbook prove complete --coin '${BETA}'`);
  }
  expect(await actsOf(database)).toEqual([]);
  await keepProof(database, { coinType: BETA, through: LAST });
  expect((await quarantine("show", BETA)).stdout).toBe("");
});

test("a resolution leaves out the one fact for ever, signed for by name, and a replay leaves it out, too", async () => {
  await using setup = await held();
  const { database, quarantine, mend } = setup;
  const why = ["--by", "Jane Roe", "--because", "written by a test of the contract"];
  const resolved = await quarantine("resolve", ACME, ...why);
  expect(resolved).toMatchObject({ code: 0, stderr: "" });
  expect(resolved.stdout).toContain("left out for ever: the object ");
  expect(resolved.stdout).toContain("shared_token_objects: released\n");
  const [act] = await actsOf(database);
  expect(act).toMatchObject({
    command: "quarantine resolve",
    coinType: ACME,
    details: { pipeline: objects.name, checkpoint: "4", by: "Jane Roe", because: why[3] },
  });
  const rows = await projectedRows(database);
  const settings = { DATABASE_URL: database.url };
  const replayed = await runCommand(["replay", "--share", "1"], settings);
  expect(replayed, replayed.stderr).toMatchObject({ code: 0 });
  // A mended log changes nothing about it.
  await mend();
  expect(await runCommand(["replay", "--share", "1"], settings)).toMatchObject({ code: 0 });
  expect(await projectedRows(database)).toEqual(rows);
  const shown = (await quarantine("show", ACME)).stdout;
  expect(shown).toMatch(/left out {4}the object .* by Jane Roe: written by a test/);
});

test("a fact that can be applied by now is not left out", async () => {
  await using setup = await held();
  const { database, quarantine, mend } = setup;
  await mend();
  const why = ["--by", "Jane Roe", "--because", "no longer needed"];
  expect(await quarantine("resolve", ACME, ...why)).toMatchObject({
    code: 0,
    stdout: "shared_token_objects: released\n",
  });
  expect(await actsOf(database)).toEqual([]);
  await using undisturbed = await withHistory();
  await project(undisturbed.database, factSource(undisturbed.database), 100);
  expect(await projectedRows(database)).toEqual(await projectedRows(undisturbed.database));
});
