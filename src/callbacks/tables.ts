/** `callback_messages` is the outbox, written in the caller's transaction. */
import { sql } from "drizzle-orm";
import {
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
} from "drizzle-orm/pg-core";
import { at, bytea, int8 } from "../database/column-types.ts";
import { laneColumns, wakeIndex } from "../lanes/columns.ts";

export const callbackEndpoints = pgTable("callback_endpoints", {
  /** Such as `project:acme` or `ta:acme-sui`. */
  key: text("key").primaryKey(),
  url: text("url").notNull(),
  /** By its receiver (410): pending messages are given up. */
  disabledAt: at("disabled_at"),
  disabledReason: text("disabled_reason"),
  /** Taken out of the configuration: pending messages wait. */
  withdrawnAt: at("withdrawn_at"),
  withdrawnReason: text("withdrawn_reason"),
  /** Consecutive failed attempts. */
  failures: integer("failures").notNull().default(0),
  /** First of those failures. */
  failingSince: at("failing_since"),
  lastError: text("last_error"),
});

/** Every callback and its outcome. Retention (`pruning.ts`), off by default, removes delivered ones. */
export const callbackMessages = pgTable(
  "callback_messages",
  {
    /** `webhook-id`, given by the caller, so that a replay adds nothing. */
    id: text("id").primaryKey(),
    /** Order inside a lane: assigned under the lane's lock, so it rises in commit order. */
    sequence: int8("sequence").generatedAlwaysAsIdentity().notNull(),
    endpoint: text("endpoint")
      .notNull()
      .references(() => callbackEndpoints.key),
    /** Messages of one lane of an endpoint are delivered one after the other. */
    lane: text("lane").notNull(),
    type: text("type").notNull(),
    /** Its subject, for its owner: a request id, a record id. */
    reference: text("reference"),
    /** `api_keys.id` of the caller whose request it answers; null for a project's. */
    keyId: text("key_id"),
    /** Canonical JSON. */
    body: text("body").notNull(),
    /** `pending`, `delivered`, `failed` (given up) or `disabled` (its address was disabled first). */
    status: text("status").notNull().default("pending"),
    /** Over all schedules. */
    attempts: integer("attempts").notNull().default(0),
    /** Attempts of the current schedule; a redelivery starts a new one. */
    scheduled: smallint("scheduled").notNull().default(0),
    /** Later than `markEnqueuing` of its transaction. */
    createdAt: at("created_at").notNull().default(sql`clock_timestamp()`),
    /** First success. */
    deliveredAt: at("delivered_at"),
    /** First given up; the owner's hook was called. */
    givenUpAt: at("given_up_at"),
  },
  (t) => [
    check(
      "callback_messages_status",
      sql`${t.status} in ('pending', 'delivered', 'failed', 'disabled')`,
    ),
    // The next of a lane; partial, so it stays as small as the backlog.
    index("callback_messages_pending")
      .on(t.endpoint, t.lane, t.sequence)
      .where(sql`status = 'pending'`),
    index("callback_messages_oldest").on(t.endpoint, t.createdAt).where(sql`status = 'pending'`),
    // The lists of a project, and of a caller.
    index("callback_messages_of_endpoint").on(t.endpoint, t.createdAt, t.sequence),
    // The operator's lists: newest, and given up; and the count of recently given up ones.
    index("callback_messages_newest").on(t.createdAt, t.sequence),
    index("callback_messages_given_up")
      .on(t.createdAt, t.sequence)
      .where(sql`status in ('failed', 'disabled')`),
    index("callback_messages_given_up_at")
      .on(t.givenUpAt)
      .where(sql`status in ('failed', 'disabled')`),
    index("callback_messages_of_key")
      .on(t.keyId, t.createdAt, t.sequence)
      .where(sql`key_id is not null`),
  ],
);

/** Written with its message's new state in one statement. */
export const callbackAttempts = pgTable(
  "callback_attempts",
  {
    messageId: text("message_id").notNull(),
    /** From 1, over all schedules. */
    number: integer("number").notNull(),
    at: at("at").notNull(),
    /** Null for attempts made before this column existed. */
    url: text("url"),
    /** Null without an answer. */
    statusCode: smallint("status_code"),
    /** Null when it succeeded. */
    error: text("error"),
    durationMs: integer("duration_ms").notNull(),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.number] })],
);

/** Marks of removed callbacks, so that none is sent again or reported as unknown. Rows are kept. */
export const prunedCallbacks = pgTable("pruned_callbacks", {
  /** 16 bytes of the id's SHA-256. */
  marker: bytea("marker").primaryKey(),
});

/** Lanes with new messages, not in `callback_lanes` yet. Short-lived rows. */
export const callbackArrivals = pgTable("callback_arrivals", {
  id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
  endpoint: text("endpoint").notNull(),
  lane: text("lane").notNull(),
});

/** Lanes that may have messages to send, none of withdrawn endpoints. */
export const callbackLanes = pgTable(
  "callback_lanes",
  {
    ...laneColumns(),
    endpoint: text("endpoint").notNull(),
    lane: text("lane").notNull(),
  },
  (t) => [
    unique("callback_lanes_of_endpoint").on(t.endpoint, t.lane),
    wakeIndex("callback_lanes", t),
  ],
);

/** Every key that ever signed; the secret half sealed with the master key. */
export const callbackKeys = pgTable("callback_keys", {
  /** Derived from the public key. */
  keyId: text("key_id").primaryKey(),
  /** Base64 of 32 bytes. */
  publicKey: text("public_key").notNull(),
  sealedSecret: bytea("sealed_secret").notNull(),
  notBefore: at("not_before").notNull(),
  /** Null while nothing replaces it. */
  notAfter: at("not_after"),
  createdAt: at("created_at").notNull().defaultNow(),
});
