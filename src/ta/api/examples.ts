/** Examples of one investor, submitted and whitelisted, for this API's description. */
import type { z } from "zod";
import { VERSION } from "../../telemetry/version.ts";
import type { submissionSchema } from "../requests/investor.ts";
import type {
  acceptedAnswer,
  deliveryAnswer,
  errorAnswerSchema,
  healthAnswer,
  redeliveryAnswer,
  requestAnswer,
  requestsAnswer,
  resultCallback,
  whitelistStatusAnswer,
} from "./answer-schema.ts";

const requestId = "6f1c2b1e-58f0-4c57-9d2a-3f0a7be1c9d4";
const httpRequestId = "0b7f4a52-6f0e-4f0e-9c61-2d1a5f1b7e90";
const wallet = "0x70a4e3ff4f9610f23c3457c6a0a9903d72062ea63d8fc30210446554793de7e6";
const txId = "8XvV3xq5a1bJcZb7tYkP2wQnR4sD6mFhG9uLeTiKoN3E";
const put = `the wallet was put into group 1 by transaction ${txId}`;
const messageId = `ta-${requestId}`;

export const submission: z.input<ReturnType<typeof submissionSchema>> = {
  investor: {
    id: "inv-2041",
    first_name: "Grete",
    last_name: "Muster",
    email: "grete@example.org",
    dob: "1985-03-04",
    full_address: { street: "Ring 1", city: "Vienna", countryCode: "AT", postalCode: "1010" },
    blockchain_wallet: wallet,
    primary_phone: "+436701234567",
    accreditation: "accredited",
    identityDocumentCountry: "AT",
    identityDocument: {
      fileName: "passport.txt",
      contentType: "text/plain",
      size: 5,
      data: "SGVsbG8=",
    },
  },
  verifiedStatus: true,
  verifiedAt: "2026-11-20T12:00:00Z",
};

export const accepted: z.infer<typeof acceptedAnswer> = {
  requestId,
  status: "QUEUED",
  message: "accepted; the wallet will be whitelisted",
};

export const request: z.infer<typeof requestAnswer> = {
  requestId,
  status: "SUCCESS",
  message: put,
  reason: null,
  outcome: "done",
  txId,
  history: [
    { status: "QUEUED", at: "2026-11-20T12:00:03.120Z", message: accepted.message },
    {
      status: "QUEUED",
      at: "2026-11-20T12:00:03.120Z",
      message: "the investor's data are stored, sealed",
    },
    { status: "PENDING", at: "2026-11-20T12:00:03.155Z", message: "taken up" },
    {
      status: "PENDING",
      at: "2026-11-20T12:00:03.171Z",
      message: "the wallet is in no group and belongs to no holder; it joins a new one",
    },
    { status: "PENDING", at: "2026-11-20T12:00:03.190Z", message: `signed transaction ${txId}` },
    { status: "PENDING", at: "2026-11-20T12:00:03.240Z", message: "submitted" },
    {
      status: "PENDING",
      at: "2026-11-20T12:00:03.910Z",
      message: "executed at 273300412; waiting until the register shows it",
    },
    { status: "PENDING", at: "2026-11-20T12:00:04.599Z", message: "confirmed by the register" },
    { status: "PENDING", at: "2026-11-20T12:00:04.602Z", message: "callback enqueued" },
    { status: "SUCCESS", at: "2026-11-20T12:00:04.602Z", message: put },
  ],
  httpRequestId,
};

export const requests: z.infer<typeof requestsAnswer> = {
  items: [
    {
      requestId,
      status: "SUCCESS",
      message: put,
      reason: null,
      outcome: "done",
      txId,
      kind: "whitelist",
      investorId: "inv-2041",
      wallet,
      createdAt: "2026-11-20T12:00:03.120Z",
      updatedAt: "2026-11-20T12:00:04.602Z",
    },
  ],
  next: null,
  httpRequestId,
};

export const whitelistStatus: z.infer<typeof whitelistStatusAnswer> = {
  requestId,
  address: wallet,
  isWhitelisted: true,
  whitelistGroupId: 1,
  walletGroup: 1,
};

export const delivery: z.infer<typeof deliveryAnswer> = {
  id: messageId,
  requestId,
  status: "delivered",
  createdAt: "2026-11-20T12:00:04.602Z",
  deliveredAt: "2026-11-20T12:00:10.241Z",
  attempts: [
    { at: "2026-11-20T12:00:04.655Z", statusCode: 503, error: null, durationMs: 41 },
    { at: "2026-11-20T12:00:10.202Z", statusCode: 200, error: null, durationMs: 38 },
  ],
};

export const redelivery: z.infer<typeof redeliveryAnswer> = {
  id: messageId,
  message:
    "it is sent again; the same request gets this answer and sends nothing, a new bound signature sends it another time",
};

export const health: z.infer<typeof healthAnswer> = {
  status: "ok",
  version: VERSION,
  queue: { waiting: 2, active: 1, failed: 0 },
};

export const result: z.infer<typeof resultCallback> = {
  requestId,
  type: "whitelist",
  investorId: "inv-2041",
  address: wallet,
  status: "SUCCESS",
  outcome: "done",
  message: put,
  txId,
  timestamp: "2026-11-20T12:00:04.602Z",
};

export const refusal: z.infer<typeof errorAnswerSchema> = {
  error: "BAD_REQUEST",
  details: "investor.email must be an e-mail address; investor.dob is missing",
  requestId: httpRequestId,
  code: "INVALID_MEMBER",
  param: "investor.email",
  httpRequestId,
};
