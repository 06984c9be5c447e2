/** `holderbook ta requests` and `ta request ID`, loaded separately to keep `ta sign` fast. */

import type { Sql } from "../database/connect.ts";
import type { Config } from "../settings/config.ts";
import { walletForms } from "../ta/requests/find-requests.ts";
import { type RequestOverview, requestHistory, requestOverviews } from "../ta/requests/overview.ts";
import { REQUEST_REMOVED, wasRequestPruned } from "../ta/requests/pruning.ts";
import { checkAsset } from "./known-asset.ts";
import { openDatabase } from "./open-database.ts";
import { printJson, printList } from "./output.ts";
import { UsageError } from "./usage.ts";

/** Prints them as JSON, one per line. @throws UsageError for an unknown asset, or no wallet */
export const listRequests = (page: {
  readonly asset?: string;
  readonly wallet?: string;
  readonly investor?: string;
  readonly open?: boolean;
  readonly limit: number;
  readonly json?: boolean;
}): Promise<void> =>
  reading(async (sql, config) => {
    const { asset, wallet, investor: investorId, open = false, limit, json = false } = page;
    const wallets = wallet === undefined ? undefined : walletForms(wallet);
    if (wallets?.length === 0) throw new UsageError("--wallet: give 0x and hex digits");
    const search = { asset, wallets, investorId };
    const status = open ? "OPEN" : undefined;
    const found = await requestOverviews({ sql }, { ...search, status, oldestFirst: open, limit });
    // An unserved asset may still have requests.
    if (found.length === 0 && asset !== undefined) await checkAsset(config, asset);
    printList(
      found.map(shown).map(({ message: _, ...request }) => request),
      json,
    );
  });

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Prints it with its history as JSON. @throws UsageError for an unknown id */
export const showRequest = (id: string): Promise<void> =>
  reading(async (sql) => {
    const [request] = UUID.test(id) ? await requestOverviews({ sql }, { id, limit: 1 }) : [];
    if (request === undefined) {
      const gone = UUID.test(id) && (await wasRequestPruned({ sql }, id.toLowerCase()));
      throw new UsageError(gone ? `${id}: ${REQUEST_REMOVED}` : `no request has the id ${id}`);
    }
    printJson({ ...shown(request), history: await requestHistory({ sql }, request.id) }, 2);
  });

/** Without cursor, and times that the history has. */
const shown = (request: RequestOverview) => {
  const { createdAt: _c, updatedAt: _u, at: _a, sequence: _s, ...members } = request;
  return members;
};

const reading = async (act: (sql: Sql, config: Config) => Promise<void>): Promise<void> => {
  // `write`, because callers' connections have a timeout, too short for millions of requests.
  await using storage = await openDatabase({ readOnly: true });
  await act(storage.write.sql, storage.config);
};
