/** A deployment with two database roles whose log has the beginning of a demo ledger. */
import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { expect, inject } from "vitest";
import { writeDemoLedger } from "../../demo/write.ts";
import { runCommand } from "../commands/run-command.ts";
import { type Settings, temporaryFolder } from "../service/process.ts";
import { twoRoles } from "../two-roles.ts";

export type IndexedDeployment = Awaited<ReturnType<typeof indexedDeployment>>;

/** @param last of 120 checkpoints, the last that is indexed */
export const indexedDeployment = async (last: number) => {
  await using opened = new AsyncDisposableStack();
  const folder = opened.use(await temporaryFolder());
  const roles = opened.use(await twoRoles(inject("postgresUrl")));
  const dir = join(folder.path, "ledger");
  await writeDemoLedger({ dir, checkpoints: 120, seed: 3, format: "binpb", epochLength: 40 });
  const settings: Settings = {
    ...roles.settings,
    CALLBACK_MASTER_KEY: randomBytes(32).toString("base64"),
    LEDGER_SOURCE: `dir:${dir}`,
    COMMITTEE_FILE: join(dir, "ledger.json"),
    DATA_DIR: join(folder.path, "data"),
  };
  expect(await runCommand(["index", "--last", `${last}`], settings)).toMatchObject({ code: 0 });
  const all = opened.move();
  return { folder, roles, settings, [Symbol.asyncDispose]: () => all.disposeAsync() };
};
