/** Paths of the former version of the API: 410, with the path that took over. */
import { HttpError } from "../http/http-error.ts";
import type { App } from "../http/part.ts";

const FORMER: Readonly<Record<string, string>> = {
  "/transfer_agent_api/v1/approve_investor": "this moved to POST /api/v1/investor/whitelist",
  "/transfer_agent_api/v1/check_whitelist/:address":
    "this moved to GET /api/v1/investor/whitelist_status/{wallet_address}",
  "/transfer_agent_api/v1/propose_tx": "this was removed and has no successor: nothing is proposed",
  "/transfer_agent_api/v1/get_nonce":
    "this was removed and has no successor: no slots are given out",
};

export const mountFormerPaths = (app: App): void => {
  for (const [url, details] of Object.entries(FORMER)) {
    app.all(url, {
      // Before the body is read: whatever it is, it has come to the wrong place.
      onRequest: async () => {
        throw new HttpError(410, details);
      },
      handler: async () => undefined,
    });
  }
};
