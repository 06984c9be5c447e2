/** `POST /api/v1/investor/whitelist` and `/kyc`. */
import type { FastifyReply } from "fastify";
import type { App } from "../../http/part.ts";
import type { RequestKind } from "../requests/accept.ts";
import { type Answer, answerGiven } from "../requests/answered.ts";
import type { TaAsset } from "../requests/asset.ts";
import type { Admission } from "./admission.ts";
import { submissionCheck } from "./check-submission.ts";
import type { TaPartSettings } from "./part.ts";
import { idempotencyKeyOf } from "./signed-body.ts";

const PATHS: Readonly<Record<RequestKind, string>> = {
  whitelist: "/api/v1/investor/whitelist",
  kyc: "/api/v1/investor/kyc",
};

export const mountSubmissions = (
  app: App,
  settings: TaPartSettings,
  admission: Admission,
): void => {
  const { accept, database, fingerprints, bounds, platformName } = settings;
  const checkFor = (ledger: TaAsset["ledger"]) =>
    submissionCheck({ ledger, platformName, maxFileBytes: bounds.fileBytes });
  const checks = { sui: checkFor("sui"), evm: checkFor("evm") };

  for (const kind of ["whitelist", "kyc"] as const) {
    app.post(PATHS[kind], {
      bodyLimit: bounds.bodyBytes,
      onRequest: admission.beforeBody,
      handler: async (request, reply) => {
        const { value, canonical, bound } = await admission.signedBody(request, reply);
        const idempotencyKey = idempotencyKeyOf(request);
        const { id: keyId, asset } = admission.callerOf(request);
        const fingerprint = fingerprints({
          keyId,
          path: PATHS[kind],
          canonicalBody: canonical,
          idempotencyKey,
          bound,
        });
        // What stands under an Idempotency-Key decides, whatever may be wrong with another body.
        const given =
          idempotencyKey === undefined ? undefined : await answerGiven(database, fingerprint);
        if (given !== undefined) return sendAnswer(reply, given);
        const submission = await checks[asset.ledger](value);
        const answer = await accept({ asset: asset.name, kind, submission, fingerprint });
        return sendAnswer(reply, answer);
      },
    });
  }
};

/** Answers with what was answered, or would have been, the first time. */
export const sendAnswer = (reply: FastifyReply, { statusCode, answer }: Answer) =>
  reply.status(statusCode).type("application/json; charset=utf-8").send(answer);
