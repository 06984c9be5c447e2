/** What is only read: whitelist status, request status, callback keys, health. */
import { canonicalJson } from "../../client/index.mjs";
import { HttpError } from "../../http/http-error.ts";
import type { App } from "../../http/part.ts";
import { canonicalWallet, WALLET_FORM } from "../requests/asset.ts";
import { requestFigures } from "../requests/figures.ts";
import { newestWhitelistRequest, requestStatus } from "../requests/reads.ts";
import { walletGroup } from "../requests/wallet-group.ts";
import type { Admission } from "./admission.ts";
import { ownKeys } from "./own-keys.ts";
import type { TaPartSettings } from "./part.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const NONE_OF_YOURS = "you have no request of this id";

export const mountReads = (app: App, settings: TaPartSettings, admission: Admission): void => {
  const { read, version, signingKeys } = settings;

  app.get<{ Params: { wallet: string } }>(
    "/api/v1/investor/whitelist_status/:wallet",
    async (request, reply) => {
      const { asset } = await admission.byKey(request, reply);
      const wallet = canonicalWallet(asset.ledger, request.params.wallet);
      if (wallet === undefined) {
        throw new HttpError(400, `wallet_address ${WALLET_FORM[asset.ledger]}`);
      }
      const [group, requestId] = await Promise.all([
        walletGroup(read.db, asset, wallet),
        newestWhitelistRequest(read.db, { asset: asset.name, wallet }),
      ]);
      const status = {
        requestId,
        address: wallet,
        isWhitelisted: group === BigInt(asset.whitelistGroupId),
        whitelistGroupId: asset.whitelistGroupId,
        walletGroup: group,
      };
      // Group ids of the ledger may be beyond 2^53: exact integers all the same.
      return reply.type("application/json; charset=utf-8").send(canonicalJson(status));
    },
  );

  app.get<{ Params: { requestId: string } }>("/api/v1/requests/:requestId", {
    onRequest: admission.signedRead,
    handler: async (request) => {
      const { requestId } = request.params;
      if (!UUID.test(requestId)) throw new HttpError(404, NONE_OF_YOURS);
      const keyIds = await ownKeys(read.db, admission.callerOf(request));
      const found = await requestStatus(read.db, { keyIds, requestId: requestId.toLowerCase() });
      if (found === null) throw new HttpError(404, NONE_OF_YOURS);
      return found;
    },
  });

  app.get("/api/v1/callback_pk", () => signingKeys.publicKeys());

  app.get("/api/v1/health", async () => {
    const queue = await requestFigures(read.db);
    return { status: "ok", version, queue };
  });
};
