/** Checks the hosts of DATABASE_URL, where it lists several: one takes writes, a standby can take its place. */
import type { Database } from "../../database/connect.ts";
import { primaryOf } from "../../database/primary.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const HOW = "docs/how-to/fail-over.md";

export const checkHosts = async (
  { sql }: Pick<Database, "sql">,
  url: string | undefined,
): Promise<readonly Finding[]> => {
  const states = (url === undefined ? undefined : await primaryOf(url)?.ask()) ?? [];
  if (states.length < 2) return [];
  const writing = states.filter(({ timeline }) => timeline !== undefined);
  const timelines = new Set(writing.map(({ timeline }) => timeline));
  const clusters = new Set(states.flatMap(({ system }) => system ?? []));
  const says = states.map(({ name, refusal }) => `${name} ${refusal ?? "takes writes"}`).join("; ");
  const hosts =
    timelines.size > 1
      ? fail(`two primaries: ${says}`, `stop the one that was promoted first (${HOW})`)
      : ok(`hosts: ${says}`);
  const found = [
    clusters.size > 1
      ? fail(
          `hosts of different clusters: ${states.map(({ name, system }) => `${name} is of ${system ?? "an unknown one"}`).join("; ")}`,
          `list a primary and its standbys alone (${HOW})`,
        )
      : hosts,
  ];
  if (!states.some(({ refusal }) => refusal === "is a standby")) {
    found.push(warn("no standby answers that could take the primary's place", `see ${HOW}`));
  }
  const [setting] = await sql<{ names: string }[]>`
    select current_setting('synchronous_standby_names') as names`;
  if (setting?.names === "") {
    found.push(
      warn(
        "no standby confirms commits: a fail-over may lose what was acknowledged last",
        `set synchronous_standby_names on the primary (${HOW})`,
      ),
    );
  }
  return found;
};
