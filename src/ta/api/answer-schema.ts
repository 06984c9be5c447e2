/** Schemas of this API's answers (specification, interface C). */
import { z } from "zod";
import { errorAnswer } from "../../http/json-schema.ts";
import { FAILURE_REASONS, OUTCOME_MEANING, OUTCOMES } from "../requests/failure-reasons.ts";

const status = z.enum(["QUEUED", "PENDING", "SUCCESS", "FAILED"]);

const reason = z.enum(FAILURE_REASONS).describe("Why a request FAILED.");

const outcome = z.enum(OUTCOMES).describe(OUTCOME_MEANING);

const time = z.iso.datetime();

export const acceptedAnswer = z.object({
  requestId: z.uuid(),
  status: z.literal("QUEUED"),
  message: z.string(),
});

const httpRequestId = z.uuid().describe("Of this answer, as X-Request-Id.");

const known = {
  requestId: z.uuid(),
  status,
  message: z.string(),
  reason: reason.nullable(),
  outcome: outcome.nullable(),
  txId: z.string().nullable().describe("Digest or hash of the transaction."),
};

export const requestAnswer = z.object({
  ...known,
  paused: z
    .literal(true)
    .optional()
    .describe(
      "The operator paused the asset: the request waits, in its order, until it is resumed. Absent otherwise.",
    ),
  history: z.array(z.object({ status, at: time, message: z.string() })),
  httpRequestId,
});

export const requestsAnswer = z.object({
  items: z.array(
    z.strictObject({
      ...known,
      kind: z.enum(["whitelist", "kyc"]),
      investorId: z.string(),
      wallet: z.string().describe("In canonical form."),
      createdAt: time.describe("When it was accepted."),
      updatedAt: time.describe("When its status or its message last changed."),
    }),
  ),
  next: z.string().nullable().describe("Give it as `after` for the next page; null at the end."),
  httpRequestId,
});

export const whitelistStatusAnswer = z.object({
  requestId: z
    .uuid()
    .nullable()
    .describe(
      "Your newest whitelist request for the wallet; null without one, and once retention has removed it.",
    ),
  address: z.string().describe("The wallet in canonical form."),
  isWhitelisted: z.boolean().describe("Whether both groups are the same."),
  whitelistGroupId: z.int().describe("The expected group."),
  walletGroup: z.int().nullable().describe("The group on the ledger; null without any."),
});

export const healthAnswer = z.object({
  status: z.literal("ok"),
  version: z.string(),
  queue: z.object({
    waiting: z.int(),
    active: z.int(),
    failed: z.int().describe("Within the last 24 hours."),
  }),
});

export const deliveryAnswer = z.object({
  id: z.string().describe("`webhook-id` of the callback."),
  requestId: z.string().nullable(),
  status: z
    .enum(["pending", "withdrawn", "delivered", "failed", "disabled"])
    .describe(
      "`withdrawn`: it waits until its address is configured again; `disabled`: given up, its address was disabled.",
    ),
  createdAt: time,
  deliveredAt: time.nullable(),
  attempts: z.array(
    z.object({
      at: time,
      statusCode: z.int().nullable(),
      error: z.string().nullable(),
      durationMs: z.int(),
    }),
  ),
});

export const redeliveryAnswer = z.object({ id: z.string(), message: z.string() });

export const errorAnswerSchema = errorAnswer.extend({});

export const resultCallback = z.object({
  requestId: z.uuid(),
  type: z.enum(["whitelist", "kyc"]),
  investorId: z.string(),
  address: z.string(),
  status: z.enum(["SUCCESS", "FAILED"]),
  message: z.string(),
  reason: reason.optional(),
  outcome: z.enum(["done", "already_done", "failed"]).describe("As of a request."),
  txId: z.string().optional(),
  timestamp: z.string(),
});
