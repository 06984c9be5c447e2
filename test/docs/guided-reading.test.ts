// @module-tag thorough
/** The steps of `docs/how-to/guided-reading.md`, with a node that serves lists. */
import { randomBytes } from "node:crypto";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { startListServer } from "../ledger/history/list-server.ts";
import { listedDemo } from "../ledger/history/listed-demo.ts";
import { eventually, type Settings, startProgram, temporaryFolder } from "../service/process.ts";
import { twoRoles } from "../two-roles.ts";
import { stepsOfSection, typed } from "./steps.ts";
import type { Step } from "./tutorial.ts";

const PAGE = "docs/how-to/guided-reading.md";

const ledger = listedDemo(
  { seed: 5, epochLength: 400, noise: 0.6, actionsPerCheckpoint: 0.2 },
  900,
);
const { committee, packages, coinTypes } = ledger.demo;

const opened = new AsyncDisposableStack();
let settings: Settings;
let cwd = "";

beforeAll(async () => {
  const folder = opened.use(await temporaryFolder());
  cwd = folder.path;
  const node = opened.use(await startListServer(ledger));
  const roles = opened.use(await twoRoles(inject("postgresUrl")));
  const file = join(cwd, "committee.json");
  const members = committee.members.map(({ publicKey, stake }) => ({
    publicKey: Buffer.from(publicKey).toString("base64"),
    stake: `${stake}`,
  }));
  await writeFile(file, JSON.stringify({ epoch: Number(committee.epoch), members }));
  settings = {
    ...roles.settings,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `grpc+http://${node.host}`,
    SECURITY_TOKEN_PACKAGES: packages[0] ?? "",
    READING: "guided",
    COMMITTEE_FILE: file,
    DATA_DIR: join(cwd, "data"),
    COIN: coinTypes[0]?.coinType ?? "",
  };
});
afterAll(() => opened.disposeAsync());

const take = (step: readonly Step[], code = 0) => typed(step, { settings, cwd }, code);

/** A service starts, reads, proves and is asked, beside other tests. */
const PATIENCE_MS = 180_000;

test(
  "an operator reads guided, proves that nothing is missing, and asks for a date between",
  async () => {
    const setUp = await stepsOfSection(PAGE, "Set it up");
    await take(setUp.next("Ask the node"));
    setUp.next("Choose");
    const reading = setUp.next("Read");
    await using _service = startProgram(["start"], settings);
    await eventually("the register to be caught up", async () => {
      const printed = await take(reading).catch(({ message }: Error) => message);
      return /^log +899\b/m.test(printed) && !/catching up/.test(printed)
        ? { done: printed }
        : { seen: printed };
    });
    expect(setUp.left()).toEqual([]);

    const proving = await stepsOfSection(PAGE, "Prove it");
    const proven = await take(proving.next("Prove"));
    expect(proven.match(/is complete through checkpoint/g)).toHaveLength(coinTypes.length);
    proving.next("See it");
    expect(proving.left()).toEqual([]);

    const between = await stepsOfSection(PAGE, "Dates between two checkpoints that were read");
    const table = await take(between.next("Ask for a date"));
    expect(table).toContain("holder_id,wallets,balance");
    expect(between.left()).toEqual([]);
  },
  PATIENCE_MS,
);
