/**
 * Tables of the callbacks.
 *
 * `callback_messages` is the outbox, written in the caller's transaction, with the outcome of each message.
 * `callback_arrivals` names lanes with new messages. `callback_lanes` has only lanes with work: which worker
 * has them and when they are due.
 */
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

/** Addresses that callbacks go to. */
export const callbackEndpoints = pgTable("callback_endpoints", {
  /** Names whose address it is, such as `project:acme` or `ta:acme-sui`. */
  key: text("key").primaryKey(),
  url: text("url").notNull(),
  /** Null unless its receiver wants nothing more: what is pending is given up. */
  disabledAt: at("disabled_at"),
  disabledReason: text("disabled_reason"),
  /** Null unless its operator took it out of the configuration: what is pending waits. */
  withdrawnAt: at("withdrawn_at"),
  withdrawnReason: text("withdrawn_reason"),
  /** Attempts that failed since the last one that did not. */
  failures: integer("failures").notNull().default(0),
  /** First of those failures. */
  failingSince: at("failing_since"),
  lastError: text("last_error"),
});

/** Every callback: the body as it is sent, and what became of it. Rows stay. */
export const callbackMessages = pgTable(
  "callback_messages",
  {
    /** `webhook-id`: the same in every attempt; given by the caller, so that a replay adds nothing. */
    id: text("id").primaryKey(),
    /** Order inside a lane: taken under the lane's lock, so it rises as transactions commit. */
    sequence: int8("sequence").generatedAlwaysAsIdentity().notNull(),
    endpoint: text("endpoint")
      .notNull()
      .references(() => callbackEndpoints.key),
    /** Messages of one lane of an endpoint are delivered one after the other. */
    lane: text("lane").notNull(),
    type: text("type").notNull(),
    /** What the message is about, for its owner: a request id, a record id. */
    reference: text("reference"),
    /** `api_keys.id` of the caller whose request it answers; null for a project's. */
    keyId: text("key_id"),
    /** Canonical JSON. */
    body: text("body").notNull(),
    /** `pending`, `delivered`, `failed` (given up) or `disabled` (its address was disabled first). */
    status: text("status").notNull().default("pending"),
    /** Attempts made, over all. */
    attempts: integer("attempts").notNull().default(0),
    /** Attempts of the current schedule; a redelivery begins a new one. */
    scheduled: smallint("scheduled").notNull().default(0),
    /** When it was written, later than its transaction was marked as under way. */
    createdAt: at("created_at").notNull().default(sql`clock_timestamp()`),
    /** First success. */
    deliveredAt: at("delivered_at"),
    /** When its owner was told that it was given up; never told twice. */
    givenUpAt: at("given_up_at"),
  },
  (t) => [
    check(
      "callback_messages_status",
      sql`${t.status} in ('pending', 'delivered', 'failed', 'disabled')`,
    ),
    // The next of a lane; only what is pending, so it stays as small as the backlog.
    index("callback_messages_pending")
      .on(t.endpoint, t.lane, t.sequence)
      .where(sql`status = 'pending'`),
    index("callback_messages_oldest").on(t.endpoint, t.createdAt).where(sql`status = 'pending'`),
    // The lists of a project, and of a caller.
    index("callback_messages_of_endpoint").on(t.endpoint, t.createdAt, t.sequence),
    // The operator's lists: the newest of all, and of what was given up; and how many were, of late.
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

/** Every attempt. Written with its message's new state in one statement. */
export const callbackAttempts = pgTable(
  "callback_attempts",
  {
    messageId: text("message_id").notNull(),
    /** From 1, over all schedules. */
    number: integer("number").notNull(),
    at: at("at").notNull(),
    /** Where it went; null for those made before this was kept. */
    url: text("url"),
    /** Null when no answer came. */
    statusCode: smallint("status_code"),
    /** Null when it succeeded. */
    error: text("error"),
    durationMs: integer("duration_ms").notNull(),
  },
  (t) => [primaryKey({ columns: [t.messageId, t.number] })],
);

/** Lanes that got messages in a transaction and are not in `callback_lanes` yet. Short-lived rows. */
export const callbackArrivals = pgTable("callback_arrivals", {
  id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
  endpoint: text("endpoint").notNull(),
  lane: text("lane").notNull(),
});

/** Lanes that may have messages to send. One without any, or of a withdrawn endpoint, has no row. */
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

/** One row per key that ever signed; the secret half sealed with the master key. */
export const callbackKeys = pgTable("callback_keys", {
  /** Derived from the public key. */
  keyId: text("key_id").primaryKey(),
  /** Base64 of 32 bytes. */
  publicKey: text("public_key").notNull(),
  sealedSecret: bytea("sealed_secret").notNull(),
  /** Signs from here on. */
  notBefore: at("not_before").notNull(),
  /** Neither signs nor is trusted from here on; null while nothing replaces it. */
  notAfter: at("not_after"),
  createdAt: at("created_at").notNull().defaultNow(),
});
