/**
 * `archive export`, `verify` and `import` of a large log: rate, size of the files, and peak memory, which a log of four
 * times the size must not raise.
 */
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { connect } from "../src/database/connect.ts";
import { indexedLog } from "./archived-log.ts";
import { type Figure, ratioOf, single } from "./figure.ts";
import { measuredRun } from "./processes.ts";
import { LAUNCHER, scratchPostgres } from "./start.ts";

export const bench = async (setting?: string): Promise<readonly Figure[]> => {
  const checkpoints = Number(setting ?? 10_000);
  await using scratch = await scratchPostgres();
  const { database, url, folder } = scratch;
  const { env, facts } = await indexedLog(scratch, { checkpoints, seed: "archive" });
  await database.sql.unsafe("create database imported");
  const empty = new URL(url);
  empty.pathname = "/imported";

  const dir = join(folder, "archive");
  const quarter = join(folder, "quarter");
  const archive = (...args: readonly string[]) =>
    measuredRun(LAUNCHER, ["archive", ...args], { ...env, DATABASE_URL: url });
  const toQuarter = ["--to", String(checkpoints / 4 - 1)];
  const exportedQuarter = await archive("export", "--dir", quarter, ...toQuarter);
  const exported = await archive("export", "--dir", dir);
  const verified = await archive("verify", dir);
  const imported = await measuredRun(LAUNCHER, ["archive", "import", dir], {
    ...env,
    DATABASE_URL: empty.href,
  });
  await using copy = connect({ url: empty.href, max: 1, applicationName: "bench" });
  const [{ copied } = { copied: 0n }] = await copy.sql<{ copied: bigint }[]>`
    select count(*) as copied from log_facts`;
  if (copied !== facts) throw new Error(`${copied} of ${facts} facts were imported`);

  const sizes = await Promise.all(
    (await readdir(dir)).map(async (name) => (await stat(join(dir, name))).size),
  );
  const bytes = sizes.reduce((sum, size) => sum + size, 0);
  const rate = (name: string, { seconds, mib }: typeof exported): Figure => ({
    ...{ name, what: `Archive: facts a second, ${name}`, better: "more", aim: null },
    ...single("/s", Number(facts) / seconds),
    detail: `${seconds.toFixed(0)} s, ${Math.round(mib)} MB`,
  });
  return [
    {
      name: "memory",
      what: "Memory: peak of `archive export` of a million facts / of a quarter of them",
      ...ratioOf("MB", [exported.mib], [exportedQuarter.mib]),
      ...{ better: "less", aim: 1.2 },
      detail: `${facts.toLocaleString("en")} facts of ${checkpoints.toLocaleString("en")} checkpoints in ${sizes.length - 1} files of ${(bytes / 1e6).toFixed(0)} MB, ${(bytes / Number(facts)).toFixed(0)} bytes a fact`,
    },
    rate("exported", exported),
    rate("verified", verified),
    rate("imported, which verifies first", imported),
  ];
};
