/** Paths of the API's former version: 410, naming their successors. */
import { HttpError } from "../../http/http-error.ts";
import { ANY_PARAMETERS, REPLY, type Route, route, type Who } from "../../http/route.ts";

type FormerPath = {
  readonly method: "GET" | "POST";
  readonly path: string;
  /** Its last segment, where that is a parameter. */
  readonly parameter?: string;
  /** Names the successor. */
  readonly details: string;
};

const FORMER: readonly FormerPath[] = [
  {
    method: "POST",
    path: "/transfer_agent_api/v1/approve_investor",
    details: "this moved to POST /api/v1/investor/whitelist",
  },
  {
    method: "GET",
    path: "/transfer_agent_api/v1/check_whitelist",
    parameter: "address",
    details: "this moved to GET /api/v1/investor/whitelist_status/{wallet_address}",
  },
  {
    method: "POST",
    path: "/transfer_agent_api/v1/propose_tx",
    details: "this was removed and has no successor: nothing is proposed",
  },
  {
    method: "POST",
    path: "/transfer_agent_api/v1/get_nonce",
    details: "this was removed and has no successor: no slots are given out",
  },
];

/** Each answers every method, with or without its parameter; one of the two is in the document. */
export const formerRoutes = (): readonly Route[] =>
  FORMER.flatMap(({ method, path, parameter, details }) => {
    const gone = { method, isGone: true, who: goneFor(details), answer: REPLY, handle: unreached };
    const documented = {
      operationId: `former_${path.split("/")[3]}`,
      summary: `Former version: ${details}`,
      query: ANY_PARAMETERS,
    };
    if (parameter === undefined) return [route({ ...gone, ...documented, path })];
    const params = { [parameter]: "0x and hex digits." };
    return [
      route({ ...gone, isHidden: true, path }),
      route({ ...gone, ...documented, params, path: `${path}/:${parameter}` }),
    ];
  });

/** Refuses before the body is read: it does not change the answer. */
const goneFor = (details: string): Who<undefined> => ({
  enter: () => {
    throw new HttpError(410, details);
  },
  described: { schemes: {}, refusals: [410] },
});

const unreached = async (): Promise<undefined> => undefined;
