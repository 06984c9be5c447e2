/** Paths of the API's former version: 410, naming their successors. */
import { errorAnswerOf } from "../../http/describe.ts";
import { HttpError } from "../../http/http-error.ts";
import type { App } from "../../http/part.ts";

type FormerPath = {
  readonly method: "get" | "post";
  readonly path: string;
  /** Its last segment, where that is a parameter. */
  readonly parameter?: string;
  /** Names the successor. */
  readonly details: string;
};

const FORMER: readonly FormerPath[] = [
  {
    method: "post",
    path: "/transfer_agent_api/v1/approve_investor",
    details: "this moved to POST /api/v1/investor/whitelist",
  },
  {
    method: "get",
    path: "/transfer_agent_api/v1/check_whitelist",
    parameter: "address",
    details: "this moved to GET /api/v1/investor/whitelist_status/{wallet_address}",
  },
  {
    method: "post",
    path: "/transfer_agent_api/v1/propose_tx",
    details: "this was removed and has no successor: nothing is proposed",
  },
  {
    method: "post",
    path: "/transfer_agent_api/v1/get_nonce",
    details: "this was removed and has no successor: no slots are given out",
  },
];

/** Answers all methods, with or without the parameter. */
export const mountFormerPaths = (app: App): void => {
  for (const { path, parameter, details } of FORMER) {
    for (const url of parameter === undefined ? [path] : [path, `${path}/:${parameter}`]) {
      app.all(url, {
        // Before the body is read: it does not change the answer.
        onRequest: async () => {
          throw new HttpError(410, details);
        },
        handler: async () => undefined,
      });
    }
  }
};

/** Their operations in the document. @param tag heading @param error name of the errors' schema */
export const formerPaths = (tag: string, error: string): Readonly<Record<string, object>> =>
  Object.fromEntries(
    FORMER.map(({ method, path, parameter, details }) => [
      parameter === undefined ? path : `${path}/{${parameter}}`,
      {
        [method]: {
          tags: [tag],
          deprecated: true,
          operationId: `former_${path.split("/")[3]}`,
          summary: `Former version: ${details}`,
          security: [],
          ...(parameter !== undefined && {
            parameters: [
              {
                name: parameter,
                in: "path",
                required: true,
                description: "0x and hex digits.",
                schema: { type: "string" },
              },
            ],
          }),
          responses: { 410: errorAnswerOf(410, error) },
        },
      },
    ]),
  );
