/** `/operator/assets`: has every process read the assets file again. */
import { z } from "zod";
import { HttpError } from "../http/http-error.ts";
import type { Key } from "../http/keys.ts";
import { json, NO_BODY, type Route, route, type Who } from "../http/route.ts";
import { ConfigError } from "../settings/config-error.ts";
import { remedyOf } from "../waiting/remedy.ts";
import { AssetsReloadError, type Reload } from "./reload-assets.ts";

/**
 * Checks the file of the serving process, and records it; null if all run with it already.
 * @param key id of the operator's key
 * @throws AssetsReloadError, or an error of the file (stop), with nothing changed
 */
export type ReloadAssets = (key: string) => Promise<Reload | null>;

const names = z.array(z.string());

const reloadAnswer = z.object({
  reloaded: z.boolean().describe("False if all processes run with this file already."),
  added: names.describe("Such as `token acme-share` and `project acme`."),
  changed: names.describe("Those whose settings changed."),
  removed: names.describe("Those that the file no longer names."),
});

const NOTHING = { added: [], changed: [], removed: [] };

export const assetRoutes = ({
  reloadAssets,
  who,
}: {
  readonly reloadAssets: ReloadAssets;
  readonly who: Who<Key>;
}): readonly Route[] => [
  route({
    method: "POST",
    path: "/operator/assets/reload",
    who,
    operationId: "operatorReloadAssets",
    summary: "Have every process read the assets file again",
    description:
      "Checks `ASSETS_FILE` first. All processes follow within seconds, each with its own copy of the file; `details.assets` of `/health` shows it. A faulty file, or a change that a running service cannot make, is 409 with the reasons, and changes nothing.",
    body: NO_BODY,
    answer: json("OperatorAssetsReload", reloadAnswer, "What changed."),
    refusals: [409],
    handle: async ({ caller, visit }) => {
      const reload = await reloadAssets(caller.id).catch((error: unknown) => {
        const isFault =
          error instanceof AssetsReloadError ||
          error instanceof ConfigError ||
          (error instanceof Error && "remedy" in error && remedyOf(error) === "stop");
        throw isFault ? new HttpError(409, error.message) : error;
      });
      const { added, changed, removed } = reload ?? NOTHING;
      visit.log.info({ key: caller.id, added, changed, removed }, "operator: assets reloaded");
      const lists = { added: [...added], changed: [...changed], removed: [...removed] };
      return { reloaded: reload !== null, ...lists };
    },
  }),
];
