/**
 * Reloading the assets file as an operator's act. It is decided once, against what the indexing
 * processes run with, and recorded; every process then follows the recorded digest.
 */
import { acting, lastActOf } from "../audit/sequence/acts.ts";
import type { Database, Sql } from "../database/connect.ts";
import { type ProcessNote, readProcesses } from "../log/process-notes.ts";
import {
  type AssetChanges,
  assetChanges,
  assetEntries,
  assetsDigest,
} from "../settings/asset-changes.ts";
import type { Assets } from "../settings/assets.ts";
import { openRequestsOf } from "../ta/requests/lanes.ts";
import type { Remedy } from "../waiting/remedy.ts";

export const RELOAD_COMMAND = "assets reload";

/**
 * The new assets file cannot replace the running one; the message has a line for each reason. Stop:
 * change the file as it says.
 */
export class AssetsReloadError extends Error {
  override readonly name = "AssetsReloadError";
  readonly remedy: Remedy = "stop";
}

export type Reload = Pick<AssetChanges, "added" | "changed" | "removed"> & {
  /** `assetsDigest` of the file. */
  readonly digest: string;
};

/** A process that wrote no note for this long is gone or hangs. */
const SILENT_MS = 15_000;

type Running = ProcessNote & { readonly said: { readonly assets: object } };

/** Indexing processes of this version, newest note first. */
const runningProcesses = async (on: { readonly sql: Sql }): Promise<readonly Running[]> =>
  (await readProcesses(on)).filter(
    (note): note is Running => note.noteAgeMs < SILENT_MS && note.said.assets !== undefined,
  );

/**
 * Decides on a file that was checked, and records it for all processes.
 * @param key id of the operator's key; null for a command or signal
 * @returns null if all run with it already, and no other file was reloaded since
 * @throws AssetsReloadError (stop), with nothing changed
 */
export const reloadAssets = async (
  database: Pick<Database, "sql" | "transaction">,
  { assets, key }: { readonly assets: Assets; readonly key: string | null },
): Promise<Reload | null> => {
  const running = await runningProcesses(database);
  const [first] = running;
  if (first === undefined) {
    throw new AssetsReloadError(
      "no process that indexes (start, index) has reported its assets in the last 15 s, so there is nothing to compare the file with: a process reads it as it starts",
    );
  }
  const digest = assetsDigest(assets);
  const after = assetEntries(assets);
  const compared = running.map(({ said }) => assetChanges(said.assets?.entries ?? [], after));
  const replaced = new Set(
    compared.flatMap((changes) =>
      changes.replaced.map(
        ({ name, was, is }) =>
          `${name}: it is ${was}, and the file says ${is}; what was made from it stays under its name: give the new one another name, or restart the service`,
      ),
    ),
  );
  const left = new Set(compared.flatMap((changes) => changes.left));
  const { added, changed, removed } = assetChanges(first.said.assets?.entries ?? [], after);
  return acting(database, async ({ sql }) => {
    // A reload that is not followed yet would put its file in force later.
    const last = await lastActOf(sql, RELOAD_COMMAND, 0n);
    const isLast = last === undefined || last.details.digest === digest;
    if (isLast && running.every(({ said }) => said.assets?.digest === digest)) return [null, null];
    const faults = [...replaced];
    for (const asset of left) {
      const open = await openRequestsOf({ sql }, asset);
      if (open > 0) {
        faults.push(
          `token ${asset}: it has ${open} open requests, which would never end: keep it with its "ta" until they are done`,
        );
      }
    }
    if (faults.length > 0) throw new AssetsReloadError(faults.join("\n"));
    const act = {
      command: RELOAD_COMMAND,
      details: {
        ...{ key, digest },
        added: `${added.length}`,
        changed: `${changed.length}`,
        removed: `${removed.length}`,
      },
      on: "deployment" as const,
    };
    return [{ digest, added, changed, removed }, act];
  });
};

/** Indexing processes, and those of them that run with this file. */
export const followersOf = async (on: { readonly sql: Sql }, digest: string) => {
  const running = await runningProcesses(on);
  return { running, followed: running.filter(({ said }) => said.assets?.digest === digest) };
};

/** As lines for logs and people. */
export const reloadLine = ({ added, changed, removed }: Omit<Reload, "digest">): string =>
  [["added", added] as const, ["changed", changed] as const, ["removed", removed] as const]
    .map(([what, names]) =>
      names.length === 0 ? `0 ${what}` : `${names.length} ${what} (${names.join(", ")})`,
    )
    .join(", ");
