/** The assets of this process: those it began with, then each file that an operator had reloaded. */
import { lastActOf } from "../audit/sequence/acts.ts";
import type { Sql } from "../database/connect.ts";
import type { HealthDetail } from "../http/health/health.ts";
import type { Logger } from "../logging/logger.ts";
import { createRareLines } from "../logging/rare-lines.ts";
import { followersOf, RELOAD_COMMAND, type Reload, reloadLine } from "../operator/reload-assets.ts";
import { assetChanges, assetEntries, assetsDigest } from "../settings/asset-changes.ts";
import type { Assets } from "../settings/assets.ts";
import type { Config } from "../settings/config.ts";
import { pause } from "../waiting/backoff.ts";
import { errorOf } from "../waiting/remedy.ts";
import { checkedAssets } from "./checked-assets.ts";

/** Disposal stops following. */
export type FollowedAssets = AsyncDisposable & {
  current(): Assets;
  /** Member `assets` of `/health`. */
  details(): Promise<HealthDetail>;
};

type FollowSettings = {
  readonly config: Pick<Config, "assetsFile" | "callbacks">;
  readonly sql: Sql;
  readonly logger: Logger;
  /** Those that the process began with. */
  readonly assets: Assets;
  /** Puts new assets in force; repeated until it succeeds. */
  readonly apply?: (assets: Assets) => Promise<void>;
  readonly everyMs?: number;
  readonly supersededAfterMs?: number;
};

const LOOK_EVERY_MS = 2_000;

/** By then the processes that have the file of a reload follow it, and their notes say so. */
const SUPERSEDED_AFTER_MS = 30_000;

/** Follows the recorded reloads until disposed; does nothing without an assets file. */
export const followAssets = ({
  config,
  sql,
  logger,
  assets: first,
  apply,
  everyMs = LOOK_EVERY_MS,
  supersededAfterMs = SUPERSEDED_AFTER_MS,
}: FollowSettings): FollowedAssets => {
  const rarely = createRareLines();
  const ending = new AbortController();
  let state = {
    assets: first,
    digest: assetsDigest(first),
    readAt: new Date(),
    reload: null as Omit<Reload, "digest"> | null,
  };
  let waiting: { readonly reason: string; readonly since: string } | undefined;
  let done = 0n;
  /** The last reload before this process, or 0; undefined before the first look. */
  let former: bigint | undefined;

  const take = async (wanted: string): Promise<string | undefined> => {
    const assets = await checkedAssets(config);
    const digest = assetsDigest(assets);
    if (digest !== wanted) {
      return `the assets file of this process has the digest ${digest}, and the one that was reloaded ${wanted}: put the same file here`;
    }
    const { added, changed, removed } = assetChanges(
      assetEntries(state.assets),
      assetEntries(assets),
    );
    await apply?.(assets);
    state = { assets, digest, readAt: new Date(), reload: { added, changed, removed } };
    logger.info(
      { added, changed, removed, sha256: digest },
      `assets: the file was reloaded: ${reloadLine({ added, changed, removed })}`,
    );
    return undefined;
  };

  const look = async () => {
    const act = await lastActOf(sql, RELOAD_COMMAND, done);
    former ??= act?.number ?? 0n;
    if (act === undefined) return;
    const wanted = act.details.digest;
    const fault =
      typeof wanted !== "string" || wanted === state.digest
        ? undefined
        : await take(wanted).catch((error: unknown) => errorOf(error).message);
    if (fault === undefined) {
      done = act.number;
      waiting = undefined;
      return;
    }
    // The file may have been changed after that reload, and read by the starts of all processes.
    if (act.number === former && act.ageMs > supersededAfterMs) {
      const { followed } = await followersOf({ sql }, `${wanted}`);
      if (followed.length === 0) {
        logger.warn(
          { sha256: state.digest, reloaded: wanted },
          "assets: no process runs with the file of the last reload; this one goes on with the file that it started with (`holderbook assets reload` records that for all)",
        );
        done = act.number;
        waiting = undefined;
        return;
      }
    }
    waiting = { reason: fault, since: waiting?.since ?? new Date().toISOString() };
    rarely(fault, (repeats) =>
      logger.error({ reason: fault, ...repeats }, "assets: a reload is not followed yet; retrying"),
    );
  };

  const follow = async () => {
    while (!ending.signal.aborted) {
      // Other work reports an unavailable database.
      await look().catch(() => undefined);
      await pause(everyMs, ending.signal);
    }
  };
  const following = config.assetsFile === undefined ? undefined : follow();
  return {
    current: () => state.assets,
    details: async () => {
      if (following === undefined) return { state: "ok", members: {} };
      const { assets, digest, readAt, reload } = state;
      const { projects } = assets;
      return {
        state: "ok",
        members: {
          assets: {
            sha256: digest,
            projects: projects.length,
            tokens: projects.reduce((sum, { tokens }) => sum + tokens.length, 0),
            readAt: readAt.toISOString(),
            reloaded: reload && {
              added: reload.added.length,
              changed: reload.changed.length,
              removed: reload.removed.length,
            },
          },
        },
        notes: waiting === undefined ? [] : [waiting],
      };
    },
    [Symbol.asyncDispose]: async () => {
      ending.abort();
      await following;
    },
  };
};
