/** Answers of the operators' routes. Imports zod and names only: the page shares these types. */
import { z } from "zod";
import { OUTCOME_MEANING, OUTCOMES } from "../ta/requests/failure-reasons.ts";

/** Counts are capped: the page polls. */
export const MOST_COUNTED = 10_000;

export const REQUEST_STATUSES = ["QUEUED", "PENDING", "SUCCESS", "FAILED"] as const;

const pageAnswer = <Item extends z.ZodType>(item: Item, order: string) =>
  z.object({
    items: z.array(item).describe(order),
    next: z.string().nullable().describe("Give it as `after` for the next page; null at the end."),
  });

const request = z.object({
  id: z.uuid(),
  asset: z.string(),
  kind: z.enum(["whitelist", "kyc"]),
  status: z.enum(REQUEST_STATUSES),
  reason: z.string().nullable().describe("Null unless FAILED."),
  outcome: z.enum(OUTCOMES).nullable().describe(OUTCOME_MEANING),
  message: z.string().describe("Message of its newest step."),
  txId: z.string().nullable(),
  waitsFor: z.string().nullable().describe("What has to happen next; null once it is final."),
  createdAt: z.iso.datetime(),
  updatedAt: z.iso.datetime(),
});

export type RequestItem = z.infer<typeof request>;

export const operatorRequestsAnswer = pageAnswer(request, "Newest first.");

export const operatorRequestAnswer = request.extend({
  history: z
    .array(z.object({ at: z.iso.datetime(), status: z.string(), message: z.string() }))
    .describe("Oldest first."),
});

const perDay = (description: string) => z.int().min(0).describe(description);

export const operatorFiguresAnswer = z
  .object({
    days: z
      .array(
        z.object({
          day: z.iso.date().describe("UTC."),
          done: perDay("Ended that day with the outcome done."),
          alreadyDone: perDay("The same with already_done."),
          doneUndelivered: perDay("The same with done_undelivered."),
          failed: perDay("The same with failed."),
        }),
      )
      .describe("Oldest first; the last one is today."),
  })
  .describe(
    `Counts of one day stop at ${MOST_COUNTED} with SUCCESS and at ${MOST_COUNTED} with FAILED, which means that many or more.`,
  );

export const DELIVERY_STATES = ["pending", "withdrawn", "delivered", "failed", "disabled"] as const;

const attempt = z.object({
  at: z.iso.datetime(),
  url: z.string().nullable().describe("Where it went: scheme and host."),
  statusCode: z.int().nullable().describe("Null without an answer."),
  error: z.string().nullable().describe("Null when it succeeded."),
  durationMs: z.int(),
});

const delivery = z.object({
  id: z.string().describe("`webhook-id`."),
  receiver: z.string().describe("As `/operator/receivers` lists it."),
  url: z.string().describe("Where it goes now, or would go: scheme and host."),
  type: z.string().describe("whitelist, kyc, transfer_event or test."),
  requestId: z.uuid().nullable().describe("The request whose result it is."),
  reference: z.string().nullable().describe("Its subject: a request or a record."),
  state: z
    .enum(DELIVERY_STATES)
    .describe(
      "pending: it is sent, perhaps again; withdrawn: pending, at an address that is no longer configured; delivered: the receiver answered with success, once is enough; failed: given up after the last attempt; disabled: given up because its address was disabled first.",
    ),
  createdAt: z.iso.datetime(),
  deliveredAt: z.iso
    .datetime()
    .nullable()
    .describe("First success; null: never delivered, whatever its state."),
  givenUpAt: z.iso.datetime().nullable(),
  attemptCount: z.int(),
  lastAttempt: attempt.nullable(),
});

export type DeliveryItem = z.infer<typeof delivery>;

export const operatorDeliveriesAnswer = pageAnswer(delivery, "Newest first.");

export const operatorDeliveryAnswer = delivery.extend({
  attempts: z.array(attempt).describe("Oldest first; the newest hundred."),
  nextAttemptAt: z.iso
    .datetime()
    .nullable()
    .describe("Null before its turn, and after the last attempt."),
  body: z
    .record(z.string(), z.unknown())
    .describe(
      'The JSON that is sent. Members of results that name an investor are "(sealed)". Integers are exact: they may exceed 2^53.',
    ),
});

const receiver = z.object({
  id: z.string(),
  kind: z
    .enum(["project", "asset"])
    .describe("project: transfer events; asset: results of the transfer agent's requests."),
  name: z.string().describe("Name of the project or the asset."),
  url: z.string().describe("Scheme and host."),
  state: z
    .enum(["open", "failing", "disabled", "withdrawn", "paused"])
    .describe(
      "open: nothing is wrong; failing: the newest attempt failed; disabled: its receiver refuses callbacks, and new ones are dropped; withdrawn: it is no longer configured, and new callbacks wait; paused: an operator paused it, and callbacks wait.",
    ),
  reason: z.string().nullable(),
  since: z.iso.datetime().nullable().describe("When it entered this state; null for open."),
  failures: z.int().describe("Failed attempts since the last success."),
  lastError: z.string().nullable(),
  pending: z.int().describe("Messages that wait; 1000 means that many or more."),
});

export type ReceiverItem = z.infer<typeof receiver>;

export const operatorReceiversAnswer = pageAnswer(receiver, "By id.");

const count = (description: string) => z.int().min(0).describe(description);

export const operatorSummaryAnswer = z
  .object({
    since: z.iso.datetime(),
    requests: z.object({
      open: count("QUEUED or PENDING now."),
      failed: count("FAILED since `since`, the next two included."),
      alreadyDone: count("Of these with the outcome already_done: no failure."),
      undelivered: count("Of these with the outcome done_undelivered: their callbacks failed."),
      succeeded: count("SUCCESS since `since`."),
    }),
    deliveries: z.object({
      pending: count("Waiting now, without those at withdrawn or paused addresses."),
      oldestPendingAt: z.iso.datetime().nullable(),
      failed: count("Given up since `since`, after the last attempt."),
      disabled: count("The same, given up because their address was disabled."),
    }),
    receivers: z.object({
      open: count("Now."),
      failing: count("Now."),
      disabled: count("Now."),
      withdrawn: count("Now."),
      paused: count("Now."),
    }),
  })
  .describe(`Counts stop at ${MOST_COUNTED}, which means that many or more.`);

export const redeliveryAnswer = z.object({
  id: z.string(),
  outcome: z
    .enum(["accepted", "pending", "waiting"])
    .describe(
      "accepted: it is sent again; pending: it was not delivered yet, and is tried now; waiting: it is sent once its address is configured again, or resumed.",
    ),
  message: z.string(),
});

export const rangeRedeliveryAnswer = z.object({
  dryRun: z.boolean(),
  matched: z.int().describe(`All matching callbacks; ${MOST_COUNTED} means that many or more.`),
  redelivered: z.int().describe("Callbacks that this request sends again, waiting ones included."),
  waiting: z.int().describe("How many of these wait until their address is configured again."),
  next: z
    .string()
    .nullable()
    .describe("Give it as `after` to continue; null when nothing is left."),
});

export const testEventAnswer = z.object({
  deliveryId: z.string().describe("`webhook-id`: look at it under `/operator/deliveries`."),
  receiver: z.string(),
  type: z.literal("test"),
  message: z.string(),
});

export const operatorSearchAnswer = z.object({
  requests: z.array(request).describe("At most `limit`."),
  deliveries: z.array(delivery).describe("At most `limit`."),
});

const label = z.object({
  id: z.string().describe("A changed label has a new one."),
  kind: z.enum(["HOLDER", "WALLET", "ROLE", "TREASURY"]),
  coinType: z.string().nullable().describe("Null for a wallet."),
  holderId: z.string().nullable().describe("Null unless it names a holder."),
  address: z.string().nullable().describe("Null unless it names a wallet."),
  role: z.string().nullable().describe("Null unless it names a role."),
  text: z.string().nullable().describe("Null where this process has no key for a sealed one."),
  isSealed: z.boolean(),
  by: z.string().describe("Who gave it: id of the key, or account that ran the command."),
  at: z.iso.datetime(),
});

export type LabelItem = z.infer<typeof label>;

export const labelAnswer = label;

export const operatorLabelsAnswer = pageAnswer(label, "By id.");

export const operatorLabelAnswer = label.extend({
  history: z
    .array(
      z.object({
        text: z.string().nullable().describe("Null once erased."),
        isSealed: z.boolean(),
        by: z.string(),
        at: z.iso.datetime(),
        endedBy: z.string().nullable(),
        endedAt: z.iso.datetime().nullable().describe("Null for the current one."),
      }),
    )
    .describe("Newest first, this one included; at most a hundred."),
});

export const labelRemovedAnswer = z.object({ id: z.string(), removed: z.literal(true) });

export const pauseAnswer = z.object({
  kind: z.enum(["pipeline", "asset", "receiver"]),
  name: z.string(),
  reason: z.string().nullable(),
  since: z.iso.datetime(),
  by: z.string().describe("An operator's key, or the account and machine of a command."),
});

export const pausesAnswer = z.object({
  pauses: z.array(pauseAnswer).describe("Everything that is paused, by kind and name."),
  ended: z
    .array(pauseAnswer.extend({ endedAt: z.iso.datetime(), endedBy: z.string() }))
    .describe("The last hundred that were ended, newest first."),
});
