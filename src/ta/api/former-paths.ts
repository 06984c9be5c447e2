/** Paths of the former version of the API: 410, with the path that took over. */
import { HttpError } from "../../http/http-error.ts";
import type { App } from "../../http/part.ts";

type FormerPath = {
  readonly url: string;
  /** By which it was asked; any other is answered alike. */
  readonly method: "get" | "post";
  /** What became of it. */
  readonly details: string;
};

/** The paths as they were documented. */
export const formerPaths: readonly FormerPath[] = [
  {
    url: "/transfer_agent_api/v1/approve_investor",
    method: "post",
    details: "this moved to POST /api/v1/investor/whitelist",
  },
  {
    url: "/transfer_agent_api/v1/check_whitelist/:address",
    method: "get",
    details: "this moved to GET /api/v1/investor/whitelist_status/{wallet_address}",
  },
  {
    url: "/transfer_agent_api/v1/propose_tx",
    method: "post",
    details: "this was removed and has no successor: nothing is proposed",
  },
  {
    url: "/transfer_agent_api/v1/get_nonce",
    method: "post",
    details: "this was removed and has no successor: no slots are given out",
  },
];

export const mountFormerPaths = (app: App): void => {
  for (const { url, details } of formerPaths) {
    // An address that was left out is no reason for another answer.
    for (const path of new Set([url, url.replace("/:address", "")])) {
      app.all(path, {
        // Before the body is read: whatever it is, it has come to the wrong place.
        onRequest: async () => {
          throw new HttpError(410, details);
        },
        handler: async () => undefined,
      });
    }
  }
};
