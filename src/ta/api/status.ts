/** `GET /api/v1/investor/whitelist_status/{wallet}` and `/api/v1/requests/{requestId}`. */
import { canonicalJson } from "../../../client/index.ts";
import type { Db } from "../../database/connect.ts";
import { codedError, HttpError } from "../../http/http-error.ts";
import { ANY_PARAMETERS, json, jsonText, type Route, route } from "../../http/route.ts";
import { QuarantinedError } from "../../projections/held-coins.ts";
import { RebuildingError } from "../../projections/past.ts";
import { registerOf } from "../processing/register.ts";
import { canonicalWallet, type TaAsset, WALLET_FORM } from "../requests/asset.ts";
import { ownKeys } from "../requests/caller-keys.ts";
import { REQUEST_REMOVED, wasRequestPruned } from "../requests/pruning.ts";
import { newestWhitelistRequest, requestStatus } from "../requests/status.ts";
import { requestAnswer, whitelistStatusAnswer } from "./answer-schema.ts";
import type { Caller } from "./caller.ts";
import * as examples from "./examples.ts";
import type { TaRouteSettings } from "./services.ts";

export const statusRoutes = ({ read, callers, catchUp }: TaRouteSettings): readonly Route[] => [
  route({
    method: "GET",
    path: "/api/v1/investor/whitelist_status/:wallet_address",
    who: callers.byKey,
    operationId: "whitelistStatus",
    summary: "Whether a wallet is whitelisted",
    params: { wallet_address: "0x and hex digits." },
    query: ANY_PARAMETERS,
    answer: jsonText(
      "TaWhitelistStatus",
      whitelistStatusAnswer.meta({ examples: [examples.whitelistStatus] }),
      "As the ledger says.",
    ),
    refusals: [400],
    handle: async ({ caller, params: { wallet_address: text = "" } }) => {
      const { asset } = caller;
      const wallet = canonicalWallet(asset.ledger, text);
      if (wallet === undefined) {
        throw codedError("INVALID_PARAMETER", `wallet_address ${WALLET_FORM[asset.ledger]}`, {
          param: "wallet_address",
        });
      }
      const [group, requestId] = await Promise.all([
        walletGroup(read.db, asset, wallet),
        newestOfCaller(read.db, caller, wallet),
      ]);
      await catchUp?.();
      // Group ids may exceed 2^53: canonical JSON prints exact integers.
      return canonicalJson({
        requestId,
        address: wallet,
        isWhitelisted: group === BigInt(asset.whitelistGroupId),
        whitelistGroupId: asset.whitelistGroupId,
        walletGroup: group,
      });
    },
  }),
  route({
    method: "GET",
    path: "/api/v1/requests/:requestId",
    who: callers.signed,
    operationId: "requestStatus",
    summary: "A request and everything that happened to it",
    params: { requestId: "UUID." },
    query: ANY_PARAMETERS,
    answer: json("TaRequest", requestAnswer.meta({ examples: [examples.request] }), "The request."),
    refusals: [404, 410],
    handle: async ({ caller, params: { requestId: text = "" }, visit }) => {
      if (!UUID.test(text)) throw new HttpError(404, NONE_OF_YOURS);
      const requestId = text.toLowerCase();
      const keyIds = await ownKeys(read.db, caller);
      const request = await requestStatus(read.db, { keyIds, requestId });
      if (request !== null) {
        await catchUp?.();
        return { ...request, httpRequestId: visit.requestId };
      }
      if (await wasRequestPruned(read.db, requestId)) throw new HttpError(410, REQUEST_REMOVED);
      throw new HttpError(404, NONE_OF_YOURS);
    },
  }),
];

/**
 * The present group of a wallet (canonical); null for none.
 * @throws HttpError (503) during a rebuild, and while the token is held: the wallet may be whitelisted all the same
 */
export const walletGroup = async (
  { sql }: Db,
  asset: TaAsset,
  wallet: string,
): Promise<bigint | null> => {
  try {
    return (await registerOf(sql, asset).place(wallet)).group;
  } catch (error) {
    if (!(error instanceof RebuildingError || error instanceof QuarantinedError)) throw error;
    throw new HttpError(503, error.message, { "retry-after": "30" });
  }
};

const newestOfCaller = async (db: Db, caller: Caller, wallet: string): Promise<string | null> => {
  const keyIds = await ownKeys(db, caller);
  return newestWhitelistRequest(db, { asset: caller.asset.name, wallet, keyIds });
};

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const NONE_OF_YOURS = "you have no request of this id";
