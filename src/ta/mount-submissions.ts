/** `POST /api/v1/investor/whitelist` and `/kyc`. */
import type { FastifyReply } from "fastify";
import type { App } from "../http/part.ts";
import type { RequestKind } from "./accept.ts";
import { type Admit, admitted } from "./admission.ts";
import type { Answer } from "./answered.ts";
import type { TaAsset } from "./asset.ts";
import { bodyRoom } from "./body-room.ts";
import { submissionCheck } from "./check-submission.ts";
import type { TaPartSettings } from "./part.ts";
import { idempotencyKeyOf, readSignedBody } from "./signed-body.ts";

const PATHS: Readonly<Record<RequestKind, string>> = {
  whitelist: "/api/v1/investor/whitelist",
  kyc: "/api/v1/investor/kyc",
};

export const mountSubmissions = (app: App, settings: TaPartSettings, admit: Admit): void => {
  const { accept, fingerprints, limits, bounds, platformName } = settings;
  const checkFor = (ledger: TaAsset["ledger"]) =>
    submissionCheck({ ledger, platformName, maxFileBytes: bounds.fileBytes });
  const checks = { sui: checkFor("sui"), evm: checkFor("evm") };
  const reserve = bodyRoom({ totalBytes: bounds.allBodiesBytes, bodyBytes: bounds.bodyBytes });
  const signedBy = admitted(admit);

  for (const kind of ["whitelist", "kyc"] as const) {
    app.post(PATHS[kind], {
      bodyLimit: bounds.bodyBytes,
      onRequest: [signedBy.onRequest, reserve],
      handler: async (request, reply) => {
        const caller = signedBy.callerOf(request);
        const { value, canonical } = readSignedBody(request, caller, limits.attempts);
        const idempotencyKey = idempotencyKeyOf(request);
        const { asset } = caller;
        const submission = await checks[asset.ledger](value);
        const fingerprint = fingerprints({
          keyId: caller.id,
          path: PATHS[kind],
          canonicalBody: canonical,
          idempotencyKey,
        });
        const answer = await accept({ asset: asset.name, kind, submission, fingerprint });
        return sendAnswer(reply, answer);
      },
    });
  }
};

/** Answers with what was answered, or would have been, the first time. */
export const sendAnswer = (reply: FastifyReply, { statusCode, answer }: Answer) =>
  reply.status(statusCode).type("application/json; charset=utf-8").send(answer);
