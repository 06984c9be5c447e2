/** `POST /api/v1/investor/whitelist` and `/kyc`: submits an investor. */

import { z } from "zod";
import { noteTrace } from "../../http/account.ts";
import { headerParameter } from "../../http/describe.ts";
import { schemaRef } from "../../http/json-schema.ts";
import { ANY_PARAMETERS, type Route, route, type Visit } from "../../http/route.ts";
import { requestTrace } from "../../telemetry/tracing.ts";
import type { RequestKind } from "../requests/accept.ts";
import type { TaAsset } from "../requests/asset.ts";
import { submissionCheck } from "../requests/check-submission.ts";
import { submissionSchema } from "../requests/investor.ts";
import { type Answer, storedAnswer } from "../requests/replays.ts";
import { acceptedAnswer } from "./answer-schema.ts";
import * as examples from "./examples.ts";
import { replayable, type TaRouteSettings } from "./services.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

const acceptedBody = z.object({ requestId: z.string() });

/** The trace of the request that was accepted first. */
const traceOfAnswer = ({ answer }: Answer): string =>
  requestTrace(acceptedBody.parse(JSON.parse(answer)).requestId).traceId;

const submissionRoute = (
  settings: TaRouteSettings,
  kind: RequestKind,
  described: { readonly operationId: string; readonly summary: string },
): Route => {
  const { accept, callers, database, fingerprints, bounds, platformName } = settings;
  const { bodyBytes, fileBytes } = bounds;
  const path = `/api/v1/investor/${kind}`;
  const rulesOf = (ledger: TaAsset["ledger"]) => ({
    ledger,
    platformName,
    maxFileBytes: fileBytes,
  });
  const checks = { sui: submissionCheck(rulesOf("sui")), evm: submissionCheck(rulesOf("evm")) };
  const noted = ({ raw }: Visit, answer: Answer): Answer => {
    if (settings.isTraced) noteTrace(raw, traceOfAnswer(answer));
    return answer;
  };
  return route({
    method: "POST",
    path,
    ...described,
    description: `At most ${bodyBytes} bytes, each file at most ${fileBytes} decoded. The body may be written in any way that is I-JSON (RFC 7493).`,
    who: callers.withBody,
    headers: [
      headerParameter(
        "Idempotency-Key",
        "The same key, path and body within 24 hours get the first answer again and do nothing; so does the same Idempotency-Key, for 30 days, and with another body it is 422. A new one makes a new request only with a bound signature (`X-Request-Timestamp`), not with a signature of the body alone.",
      ),
    ],
    query: ANY_PARAMETERS,
    body: callers.signedBody(bodyBytes, {
      schema: schemaRef("TaSubmission"),
      schemas: {
        // A wallet's form depends on the asset's ledger: the schema describes it in words only.
        TaSubmission: submissionSchema(rulesOf("sui")).meta({ examples: [examples.submission] }),
      },
    }),
    answer: replayable(
      201,
      "TaAccepted",
      acceptedAnswer.meta({ examples: [examples.accepted] }),
      "Accepted; the result comes by callback.",
    ),
    handle: async ({ caller: { id: keyId, asset }, body: { value, canonical, bound }, visit }) => {
      const idempotencyKey = idempotencyKeyOf(visit.raw);
      const fingerprint = fingerprints({
        keyId,
        path,
        canonicalBody: canonical,
        idempotencyKey,
        bound,
      });
      // An answer remembered under this Idempotency-Key takes precedence, even over a faulty body.
      const given =
        idempotencyKey === undefined ? undefined : await storedAnswer(database, fingerprint);
      if (given !== undefined) return noted(visit, given);
      const checked = await checks[asset.ledger](value);
      const accepted = await accept({
        asset: asset.name,
        kind,
        submission: checked,
        fingerprint,
      });
      return noted(visit, accepted);
    },
  });
};

export const submissionRoutes = (settings: TaRouteSettings): readonly Route[] => [
  submissionRoute(settings, "whitelist", {
    operationId: "whitelistInvestor",
    summary: "Whitelist a wallet",
  }),
  submissionRoute(settings, "kyc", {
    operationId: "submitKyc",
    summary: "Store KYC data without whitelisting",
  }),
];
