/**
 * Tables of the transfer agent: what was asked, in which order it is done, and what is known of the
 * investors.
 *
 * Personal data stand in `ta_pii_records` alone, sealed. An investor's id is the caller's pseudonym
 * and a wallet is public on the ledger: both stand in the clear, because callbacks carry them.
 *
 * What one statement writes together, a lane, its request, the request's history and its record, refers
 * to one another without foreign keys: the ids are those of the rows of that statement, and neither lanes
 * nor requests are ever deleted. Checking each would cost an eighth of what accepting costs Postgres.
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
 * One row per investor of an asset: the investor's requests are done one after the other. The row is written by
 * every accepted request, so that the requests of a lane become visible in the order of their numbers.
 */
export const taLanes = pgTable(
  "ta_lanes",
  {
    ...laneColumns(),
    asset: text("asset").notNull(),
    investorId: text("investor_id").notNull(),
    /** Whose coins or nonces its first request waits for; null when for none. */
    waitsFor: text("waits_for"),
    waitingSince: at("waiting_since"),
  },
  (t) => [
    unique("ta_lanes_of_investor").on(t.asset, t.investorId),
    wakeIndex("ta_lanes", t),
    // Which lane gets the next free reservation.
    index("ta_lanes_waiting").on(t.waitsFor, t.waitingSince).where(sql`waits_for is not null`),
  ],
);

/** Every accepted request. Rows stay, also when the investor's data are deleted. */
export const taRequests = pgTable(
  "ta_requests",
  {
    id: uuid("id").primaryKey(),
    /** `ta_lanes.id`; see the note on references above. */
    laneId: int8("lane_id").notNull(),
    /** Order inside the lane: drawn under the lane's row lock, so it rises as transactions commit. */
    sequence: int8("sequence").generatedAlwaysAsIdentity().notNull(),
    asset: text("asset").notNull(),
    /** `whitelist` or `kyc`. */
    kind: text("kind", { enum: ["whitelist", "kyc"] }).notNull(),
    investorId: text("investor_id").notNull(),
    /** Canonical: lower case, padded on Sui. */
    wallet: text("wallet").notNull(),
    /**
     * Of a whitelist request: whether external verification passed, as the caller says; `false` is
     * never whitelisted. Null for KYC, where nothing goes by it.
     */
    verifiedStatus: boolean("verified_status"),
    status: text("status", { enum: ["QUEUED", "PENDING", "SUCCESS", "FAILED"] })
      .notNull()
      .default("QUEUED"),
    /** For the caller; nothing personal. */
    message: text("message").notNull(),
    /** Null unless FAILED. */
    reason: text("reason"),
    /** How often a signer was asked for its transaction, counted before each time. */
    signingTries: smallint("signing_tries").notNull().default(0),
    /** Checkpoint or block that the register has to reach before the step that waits for it. */
    awaitedPlace: int8("awaited_place"),
    /** Since when it waits for that. */
    awaitedSince: at("awaited_since"),
    /** Digest or hash of the transaction, stored before it is submitted. */
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
    // The next of a lane; only what is open, so it stays as small as the backlog.
    index("ta_requests_open").on(t.laneId, t.sequence).where(sql`status in ('QUEUED', 'PENDING')`),
    index("ta_requests_of_wallet").on(t.asset, t.wallet, t.sequence),
    // The operator's lists: the newest of all, and of what failed.
    index("ta_requests_newest").on(t.createdAt, t.sequence),
    index("ta_requests_failed").on(t.createdAt, t.sequence).where(sql`status = 'FAILED'`),
    // Figures for the operator: the open ones of an asset, oldest first, and what has ended lately.
    index("ta_requests_waiting")
      .on(t.asset, t.sequence)
      .where(sql`status in ('QUEUED', 'PENDING')`),
    index("ta_requests_ended")
      .on(t.status, t.updatedAt)
      .where(sql`status in ('SUCCESS', 'FAILED')`),
  ],
);

/** Every status a request had, and every step on the way, as its caller sees them. */
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

/**
 * The investor's data of one request: a key of its own seals them, and that key is sealed with the
 * key named `keyId` of the configuration. Deleting the row deletes the data.
 */
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
    // What a rotation still has to do.
    index("ta_pii_records_of_key").on(t.keyId),
  ],
);

/** Every time personal data were opened or deleted; rows stay. */
export const taPiiAccesses = pgTable(
  "ta_pii_accesses",
  {
    id: int8("id").primaryKey().generatedAlwaysAsIdentity(),
    at: at("at").notNull().defaultNow(),
    /** No reference: what is said of a record outlives it. */
    requestId: uuid("request_id").notNull(),
    /** `open` or `delete`. */
    action: text("action").notNull(),
    /** Command, who ran it and why, such as `command: pii show, by jo: audit 12`. */
    purpose: text("purpose").notNull(),
  },
  (t) => [index("ta_pii_accesses_of_request").on(t.requestId, t.id)],
);

/** Answers already given, by who asked for what: the same again gets the same answer. */
export const taAnswers = pgTable(
  "ta_answers",
  {
    /** `api_keys.id` of the caller. */
    keyId: text("key_id").notNull(),
    /** Keyed digest of path and `Idempotency-Key`, or of path and body. */
    marker: bytea("marker").notNull(),
    /** Keyed digest of path and body: the same `Idempotency-Key` with another one is refused. */
    body: bytea("body").notNull(),
    statusCode: smallint("status_code").notNull(),
    /** JSON; nothing personal. */
    answer: text("answer").notNull(),
    createdAt: at("created_at").notNull().defaultNow(),
    /** Forgotten from then on. */
    expiresAt: at("expires_at").notNull(),
  },
  (t) => [primaryKey({ columns: [t.keyId, t.marker] }), index("ta_answers_expiry").on(t.expiresAt)],
);
