/** What goes in and out of the transfer events API, as zod schemas: they check, and they document. */
import { z } from "zod";
import { exactInteger } from "../http/json-schema.ts";
import { limitParameter } from "../http/parameters.ts";

const hex = (bytes: number, what: string) =>
  z
    .string()
    .regex(
      new RegExp(`^0[xX][0-9a-fA-F]{${2 * bytes}}$`),
      `must be ${what}: 0x and ${2 * bytes} hex digits`,
    )
    .toLowerCase();

/** The query string of the list. */
export const transferEventsQuery = z.strictObject({
  tx_hash: hex(32, "a transaction hash").optional().meta({
    description: "Only records of this transaction: `0x` and 64 hex digits, any letter case.",
  }),
  recipient_address: hex(20, "an address").optional().meta({
    description:
      "Only records whose recipient is this wallet: `0x` and 40 hex digits, any letter case.",
  }),
  order: z
    .enum(["asc", "desc"], "must be asc or desc")
    .default("asc")
    .meta({ description: "asc: oldest first, in the order of the chain. desc: newest first." }),
  limit: limitParameter().meta({ description: "Records of one page." }),
  after_id: z
    .string()
    .regex(/^\d{1,30}$/, "must be the id of a record")
    .transform(BigInt)
    .pipe(z.bigint())
    .optional()
    .meta({
      description: "Id of the last record seen: the page begins beyond it, in the order asked for.",
    }),
});

const isoTime = z.iso
  .datetime({ precision: 3 })
  .meta({ description: "ISO 8601 in UTC, with milliseconds." });

const wallet = z.object({
  address: z.string().regex(/^0x[0-9a-f]{40}$/),
});

const regGroup = z
  .object({ name: z.string(), blockchain_id: exactInteger })
  .nullable()
  .meta({ description: "Regulatory group at that log; null if none is known for the wallet." });

const nullableInteger = exactInteger.nullable();

/** One token movement. */
export const transferEventSchema = z
  .object({
    id: exactInteger.meta({
      description:
        "Positive; rises in the order of the chain, is the same after any replay, and is consecutive for records that follow each other in a block.",
    }),
    block: exactInteger.meta({ description: "Block number." }),
    tx_hash: z.string().regex(/^0x[0-9a-f]{64}$/),
    method_name: z.string().meta({
      description:
        'Contract method that caused the movement; "constructor" for the creating transaction, "unknown" where it cannot be determined.',
    }),
    amount: exactInteger.meta({ description: "In the token's smallest unit." }),
    approved_on_chain_at: isoTime.meta({ description: "Time of the block." }),
    commencement_timestamp: nullableInteger.meta({
      description: "Unix seconds; null when no vesting applies.",
    }),
    schedule_id: nullableInteger.meta({ description: "Null when no vesting applies." }),
    created_at: isoTime.meta({
      description: "Time of the block, so that a replay gives the same.",
    }),
    updated_at: isoTime.meta({ description: "The same: records do not change." }),
    vesting_schedule: z
      .object({
        name: z.string(),
        release_count: nullableInteger,
        delay_until_first_release_in_seconds: nullableInteger,
        initial_release_portion_in_bips: nullableInteger,
        period_between_releases_in_seconds: nullableInteger,
      })
      .nullable()
      .meta({
        description:
          "Null when no vesting applies; its numbers are null where the contract does not return them.",
      }),
    recipient_wallet: wallet,
    sender_wallet: wallet.meta({ description: "The zero address for a mint." }),
    recipient_reg_group: regGroup,
    sender_reg_group: regGroup,
    token: z.object({
      _blockchain: z.string().meta({ description: "Slug of the network, such as avalanche_fuji." }),
      _token_type: z.string().meta({ description: "Such as comakery_security_token_v4." }),
      id: z.int().positive().meta({ description: "Follows from chain and address." }),
      contract_address: z.string().regex(/^0x[0-9a-f]{40}$/),
      decimal_places: z.int().min(0).max(255).nullable().meta({
        description: "Null where the contract does not return it.",
      }),
      name: z.string(),
      symbol: z
        .string()
        .nullable()
        .meta({ description: "Null where the contract does not return it." }),
      created_at: isoTime.meta({ description: "When this service first read the token." }),
      updated_at: isoTime.meta({ description: "The same." }),
    }),
  })
  .meta({ description: "One token movement: one Transfer log." });

/** The second record of a funding of version 3: from the token contract to the investor's wallet. */
export const exampleRecord: z.infer<typeof transferEventSchema> = {
  id: 1_772_366_400_000_002,
  block: 51_234_567,
  tx_hash: "0x8f1c6a2e9d0b4f7735c1a9e86d24b0f3975e1c8a6b2d4f09e7c35a1b8d6f2e40",
  method_name: "fundReleaseSchedule",
  amount: 2_500_000_000,
  approved_on_chain_at: "2026-03-01T12:00:00.000Z",
  commencement_timestamp: 1_772_323_200,
  schedule_id: 0,
  created_at: "2026-03-01T12:00:00.000Z",
  updated_at: "2026-03-01T12:00:00.000Z",
  vesting_schedule: {
    name: "Gradual Release",
    release_count: 12,
    delay_until_first_release_in_seconds: 31_536_000,
    initial_release_portion_in_bips: 2_500,
    period_between_releases_in_seconds: 2_592_000,
  },
  recipient_wallet: { address: "0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc" },
  sender_wallet: { address: "0x5fbdb2315678afecb367f032d93f642f64180aa3" },
  recipient_reg_group: { name: "Reg A", blockchain_id: 1 },
  sender_reg_group: { name: "Group 0", blockchain_id: 0 },
  token: {
    _blockchain: "avalanche_fuji",
    _token_type: "comakery_security_token_v3",
    id: 187_264_905_113_207,
    contract_address: "0x5fbdb2315678afecb367f032d93f642f64180aa3",
    decimal_places: 6,
    name: "Acme Shares",
    symbol: "ACME",
    created_at: "2026-02-11T09:30:12.481Z",
    updated_at: "2026-02-11T09:30:12.481Z",
  },
};
