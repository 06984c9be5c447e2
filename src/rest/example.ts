/** Examples of what the transfer events API answers, for its description. */
import type { z } from "zod";
import { type ErrorBody, errorBody } from "../http/error-body.ts";
import type { transferEventSchema } from "./schema.ts";

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

/** An error answer of this status. */
export const exampleError = (statusCode: number, details: string): ErrorBody =>
  errorBody(statusCode, details, "6f1c2b1e-58f0-4c57-9d2a-3f0a7be1c9d4");
