/** Paths of the former version of the API: 410, with the path that took over. */
import { HttpError } from "../../http/http-error.ts";
import type { App } from "../../http/part.ts";
import type { FormerRoute } from "./route.ts";

const former = (
  method: FormerRoute["method"],
  path: string,
  details: string,
  params: FormerRoute["params"] = {},
): FormerRoute => ({
  method,
  path,
  access: "gone",
  operationId: `former_${path.split("/")[3]}`,
  summary: `Former version: ${details}`,
  params,
  details,
});

/** The paths as they were documented. */
export const formerRoutes: readonly FormerRoute[] = [
  former(
    "POST",
    "/transfer_agent_api/v1/approve_investor",
    "this moved to POST /api/v1/investor/whitelist",
  ),
  former(
    "GET",
    "/transfer_agent_api/v1/check_whitelist/:address",
    "this moved to GET /api/v1/investor/whitelist_status/{wallet_address}",
    { address: { description: "0x and hex digits." } },
  ),
  former(
    "POST",
    "/transfer_agent_api/v1/propose_tx",
    "this was removed and has no successor: nothing is proposed",
  ),
  former(
    "POST",
    "/transfer_agent_api/v1/get_nonce",
    "this was removed and has no successor: no slots are given out",
  ),
];

/** Answers every method, and also a path without its parameter. */
export const mountFormer = (app: App, { path, details }: FormerRoute): void => {
  for (const url of new Set([path, path.replace("/:address", "")])) {
    app.all(url, {
      // Before the body is read: no body changes the answer.
      onRequest: async () => {
        throw new HttpError(410, details);
      },
      handler: async () => undefined,
    });
  }
};
