/** `POST /api/v1/investor/whitelist` and `/kyc`: an investor is submitted. */

import { z } from "zod";
import { schemaRef } from "../../http/api-description.ts";
import { noteTrace } from "../../http/request-trace.ts";
import { requestTrace } from "../../telemetry/tracing.ts";
import type { RequestKind } from "../requests/accept.ts";
import type { TaAsset } from "../requests/asset.ts";
import { submissionCheck } from "../requests/check-submission.ts";
import { type Answer, answerGiven } from "../requests/replays.ts";
import type { ServedRoute } from "./route.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

const acceptedBody = z.object({ requestId: z.string() });

/** The trace of the request that was accepted, now or before. */
const traceOfAnswer = ({ answer }: Answer): string =>
  requestTrace(acceptedBody.parse(JSON.parse(answer)).requestId).traceId;

const submission = (
  kind: RequestKind,
  described: Pick<ServedRoute, "operationId" | "summary">,
): ServedRoute => {
  const path = `/api/v1/investor/${kind}`;
  return {
    method: "POST",
    path,
    access: "signed-body",
    ...described,
    description: ({ bodyBytes, fileBytes }) =>
      `At most ${bodyBytes} bytes, each file at most ${fileBytes} decoded. The body may be written in any way that is I-JSON (RFC 7493).`,
    body: {
      schema: schemaRef("TaSubmission"),
      mostBytes: ({ bodyBytes }) => bodyBytes,
      idempotencyKey:
        "The same key, path and body within 24 hours get the first answer again and do nothing; so does the same Idempotency-Key, for 30 days, and with another body it is 422. A new one makes a new request where the signature is bound to it (`X-Request-Timestamp`), and none beside a signature of the body alone.",
    },
    answer: {
      statusCode: 201,
      description: "Accepted; the result comes by callback.",
      schema: schemaRef("TaAccepted"),
    },
    handler: ({ accept, database, fingerprints, bounds, platformName, isTraced = false }) => {
      const checkFor = (ledger: TaAsset["ledger"]) =>
        submissionCheck({ ledger, platformName, maxFileBytes: bounds.fileBytes });
      const checks = { sui: checkFor("sui"), evm: checkFor("evm") };
      const noted = (request: Parameters<typeof idempotencyKeyOf>[0], answer: Answer): Answer => {
        if (isTraced) noteTrace(request.raw, traceOfAnswer(answer));
        return answer;
      };
      return async (request, { id: keyId, asset }, { value, canonical, bound }) => {
        const idempotencyKey = idempotencyKeyOf(request);
        const fingerprint = fingerprints({
          keyId,
          path,
          canonicalBody: canonical,
          idempotencyKey,
          bound,
        });
        // An answer remembered under an Idempotency-Key comes first, even if this body is faulty.
        const given =
          idempotencyKey === undefined ? undefined : await answerGiven(database, fingerprint);
        if (given !== undefined) return noted(request, given);
        const checked = await checks[asset.ledger](value);
        const accepted = await accept({
          asset: asset.name,
          kind,
          submission: checked,
          fingerprint,
        });
        return noted(request, accepted);
      };
    },
  };
};

export const submissionRoutes: readonly ServedRoute[] = [
  submission("whitelist", { operationId: "whitelistInvestor", summary: "Whitelist a wallet" }),
  submission("kyc", {
    operationId: "submitKyc",
    summary: "Store KYC data without whitelisting",
  }),
];
