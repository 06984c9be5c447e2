/**
 * Personal data are only in `ta_pii_records`, sealed. An investor's id (the caller's pseudonym) and a
 * wallet (public on the ledger) are stored in the clear, because callbacks carry them.
 *
 * Rows that one statement writes together (a lane, its request, history and record) have no foreign
 * keys, which would add an eighth to the cost of accepting a request; lanes are never deleted, and
 * requests with their history only (`pruning.ts`).
 */
import { sql } from "drizzle-orm";
import {
  boolean,
  check,
  index,
  integer,
  pgTable,
  primaryKey,
  smallint,
  text,
  unique,
  uuid,
} from "drizzle-orm/pg-core";
import { at, bytea, int8 } from "../../database/column-types.ts";
import { laneColumns, wakeIndex } from "../../lanes/columns.ts";

/**
 * One row per investor of an asset. Every accepted request updates it, so that a lane's requests become
 * visible in the order of their numbers.
 */
export const taLanes = pgTable(
  "ta_lanes",
  {
    ...laneColumns(),
    asset: text("asset").notNull(),
    investorId: text("investor_id").notNull(),
    /** Payer whose coins or nonces the first request waits for; null for none. */
    waitsFor: text("waits_for"),
    waitingSince: at("waiting_since"),
  },
  (t) => [
    unique("ta_lanes_of_investor").on(t.asset, t.investorId),
    wakeIndex("ta_lanes", t),
    // Finds the lane for the next free reservation.
    index("ta_lanes_waiting").on(t.waitsFor, t.waitingSince).where(sql`waits_for is not null`),
  ],
);

/** Every accepted request; kept after the investor's data are deleted, unless `pruning.ts` is told otherwise. */
export const taRequests = pgTable(
  "ta_requests",
  {
    id: uuid("id").primaryKey(),
    /** `ta_lanes.id`; no foreign key, see above. */
    laneId: int8("lane_id").notNull(),
    /** Order in the lane: assigned under the lane's row lock, so it rises in commit order. */
    sequence: int8("sequence").generatedAlwaysAsIdentity().notNull(),
    asset: text("asset").notNull(),
    kind: text("kind", { enum: ["whitelist", "kyc"] }).notNull(),
    investorId: text("investor_id").notNull(),
    /** Canonical: lower case, padded on Sui. */
    wallet: text("wallet").notNull(),
    /** Whether external verification passed; `false` is never whitelisted. Null for KYC. */
    verifiedStatus: boolean("verified_status"),
    status: text("status", { enum: ["QUEUED", "PENDING", "SUCCESS", "FAILED"] })
      .notNull()
      .default("QUEUED"),
    /** For the caller; nothing personal. */
    message: text("message").notNull(),
    /** Null unless FAILED. */
    reason: text("reason"),
    /** Signing attempts, counted before each. */
    signingTries: smallint("signing_tries").notNull().default(0),
    /** Checkpoint or block that the register must reach before the waiting step. */
    awaitedPlace: int8("awaited_place"),
    /** Start of that wait. */
    awaitedSince: at("awaited_since"),
    /** Transaction digest or hash, stored before submission. */
    txId: text("tx_id"),
    /** `api_keys.id` of the caller. */
    keyId: text("key_id").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
    updatedAt: at("updated_at").notNull().defaultNow(),
  },
  (t) => [
    check("ta_requests_kind", sql`${t.kind} in ('whitelist', 'kyc')`),
    check(
      "ta_requests_verified_status",
      sql`(${t.kind} = 'whitelist') = (${t.verifiedStatus} is not null)`,
    ),
    check("ta_requests_status", sql`${t.status} in ('QUEUED', 'PENDING', 'SUCCESS', 'FAILED')`),
    check("ta_requests_reason", sql`(${t.status} = 'FAILED') = (${t.reason} is not null)`),
    // The next request of a lane; partial, so it stays as small as the backlog.
    index("ta_requests_open").on(t.laneId, t.sequence).where(sql`status in ('QUEUED', 'PENDING')`),
    index("ta_requests_of_wallet").on(t.asset, t.wallet, t.sequence),
    // Those of an investor, and of a caller.
    index("ta_requests_of_lane").on(t.laneId, t.sequence),
    index("ta_requests_of_key").on(t.keyId, t.createdAt, t.sequence),
    // The operator's lists: newest requests, and newest failures.
    index("ta_requests_newest").on(t.createdAt, t.sequence),
    index("ta_requests_failed").on(t.createdAt, t.sequence).where(sql`status = 'FAILED'`),
    // The operator's figures: open requests of an asset, oldest first, and recently ended ones.
    index("ta_requests_waiting")
      .on(t.asset, t.sequence)
      .where(sql`status in ('QUEUED', 'PENDING')`),
    index("ta_requests_ended")
      .on(t.status, t.updatedAt)
      .where(sql`status in ('SUCCESS', 'FAILED')`),
  ],
);

/** Every status and step of a request, as its caller sees them. */
export const taRequestHistory = pgTable(
  "ta_request_history",
  {
    requestId: uuid("request_id").notNull(),
    /** From 1. */
    number: integer("number").notNull(),
    at: at("at").notNull().defaultNow(),
    status: text("status").notNull(),
    /** For the caller; nothing personal. */
    message: text("message").notNull(),
  },
  (t) => [primaryKey({ columns: [t.requestId, t.number] })],
);

/** A request's data, sealed with its own key, which is sealed with the configured key `keyId`. */
export const taPiiRecords = pgTable(
  "ta_pii_records",
  {
    requestId: uuid("request_id").primaryKey(),
    asset: text("asset").notNull(),
    investorId: text("investor_id").notNull(),
    keyId: text("key_id").notNull(),
    sealedKey: bytea("sealed_key").notNull(),
    sealed: bytea("sealed").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
  },
  (t) => [
    index("ta_pii_records_of_investor").on(t.asset, t.investorId),
    // Finds the rows that a rotation must reseal.
    index("ta_pii_records_of_key").on(t.keyId),
  ],
);

/** Every access to personal data and every deletion; rows are kept. */
export const taPiiAccesses = pgTable(
  "ta_pii_accesses",
  {
    id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
    at: at("at").notNull().defaultNow(),
    /** No foreign key: the entry outlives the record. */
    requestId: uuid("request_id").notNull(),
    /** `open` or `delete`. */
    action: text("action").notNull(),
    /** Command, person and reason, such as `command: pii show, by jo: audit 12`. */
    purpose: text("purpose").notNull(),
  },
  (t) => [index("ta_pii_accesses_of_request").on(t.requestId, t.id)],
);

/** Stored answers: a repeated request gets the same answer. */
export const taAnswers = pgTable(
  "ta_answers",
  {
    /** `api_keys.id` of the caller. */
    keyId: text("key_id").notNull(),
    /** Keyed digest of path and `Idempotency-Key`, or of path and body. */
    marker: bytea("marker").notNull(),
    /** Keyed digest of path and body: an `Idempotency-Key` with another body is refused. */
    body: bytea("body").notNull(),
    statusCode: smallint("status_code").notNull(),
    /** JSON; nothing personal. */
    answer: text("answer").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
    expiresAt: at("expires_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.keyId, t.marker] }), index("ta_answers_expiry").on(t.expiresAt)],
);
