/** `GET /api/v1/investor/whitelist_status/{wallet}` and `/api/v1/requests/{requestId}`. */
import { canonicalJson } from "../../../client/index.ts";
import type { Db } from "../../database/connect.ts";
import { schemaRef } from "../../http/api-description.ts";
import { HttpError } from "../../http/http-error.ts";
import { canonicalWallet, WALLET_FORM } from "../requests/asset.ts";
import { ownKeys } from "../requests/caller-keys.ts";
import { newestWhitelistRequest, requestStatus, walletGroup } from "../requests/status.ts";
import type { Caller } from "./caller.ts";
import { found, type ServedRoute } from "./route.ts";

const whitelistStatus: ServedRoute = {
  method: "GET",
  path: "/api/v1/investor/whitelist_status/:wallet",
  access: "key",
  operationId: "whitelistStatus",
  summary: "Whether a wallet is whitelisted",
  params: { wallet: { name: "wallet_address", description: "0x and hex digits." } },
  answer: {
    statusCode: 200,
    description: "As the ledger says.",
    schema: schemaRef("TaWhitelistStatus"),
  },
  refusals: [400],
  handler:
    ({ read }) =>
    async ({ params: { wallet: asked = "" } }, caller) => {
      const { asset } = caller;
      const wallet = canonicalWallet(asset.ledger, asked);
      if (wallet === undefined) {
        throw new HttpError(400, `wallet_address ${WALLET_FORM[asset.ledger]}`);
      }
      const [group, requestId] = await Promise.all([
        walletGroup(read.db, asset, wallet),
        newestOfCaller(read.db, caller, wallet),
      ]);
      const status = {
        requestId,
        address: wallet,
        isWhitelisted: group === BigInt(asset.whitelistGroupId),
        whitelistGroupId: asset.whitelistGroupId,
        walletGroup: group,
      };
      // Group ids of a ledger may exceed 2^53: canonical JSON prints them as exact integers.
      return { statusCode: 200, answer: canonicalJson(status) };
    },
};

const newestOfCaller = async (db: Db, caller: Caller, wallet: string): Promise<string | null> => {
  const keyIds = await ownKeys(db, caller);
  return newestWhitelistRequest(db, { asset: caller.asset.name, wallet, keyIds });
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const NONE_OF_YOURS = "you have no request of this id";

const status: ServedRoute = {
  method: "GET",
  path: "/api/v1/requests/:requestId",
  access: "signed",
  operationId: "requestStatus",
  summary: "A request and everything that happened to it",
  params: { requestId: { description: "UUID." } },
  answer: { statusCode: 200, description: "The request.", schema: schemaRef("TaRequest") },
  refusals: [404],
  handler:
    ({ read }) =>
    async ({ params: { requestId = "" } }, caller) => {
      if (!UUID.test(requestId)) throw new HttpError(404, NONE_OF_YOURS);
      const keyIds = await ownKeys(read.db, caller);
      const request = await requestStatus(read.db, { keyIds, requestId: requestId.toLowerCase() });
      if (request === null) throw new HttpError(404, NONE_OF_YOURS);
      return found(request);
    },
};

export const statusRoutes = [whitelistStatus, status] as const;
