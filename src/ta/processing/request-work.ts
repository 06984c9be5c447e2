/** What each step of a request is done with, and what it answers. */
import type { Database } from "../../database/connect.ts";
import type { LaneClaim } from "../../lanes/lanes.ts";
import type { Logger } from "../../logging/logger.ts";
import type { Tracing } from "../../telemetry/tracing.ts";
import type { Relay } from "../ledgers/relay.ts";
import type { PiiPresence } from "../pii/vault.ts";
import type { OpenRequest } from "./open-request.ts";
import type { RegistersBehind } from "./overdue.ts";
import type { Patience } from "./patience.ts";
import type { Ending } from "./record.ts";
import type { Register } from "./register.ts";

/** An asset that wallets are whitelisted for. */
export type ProcessedAsset = {
  readonly name: string;
  /** Group of a whitelisted wallet. */
  readonly whitelistGroupId: number;
  readonly register: Register;
  readonly relay: Relay;
};

/** What a request is processed with. */
export type Processing = {
  readonly database: Pick<Database, "sql" | "transaction">;
  readonly claim: LaneClaim;
  readonly asset: ProcessedAsset;
  readonly vault: PiiPresence;
  readonly logger: Pick<Logger, "info" | "warn">;
  readonly tracing: Tracing;
  readonly behind: RegistersBehind;
  /** How long, and by how many, something is waited for on the spot. */
  readonly patience: Patience;
  /** Other lanes may go on now: they got a reservation or a wallet. */
  readonly poke: () => void;
  /** Aborts when the worker is to come to a stop, or has lost the lane: calls are cut off. */
  readonly signal: AbortSignal;
  /** Aborts with `signal`, and when the turn is over: waiting ends, but no call is cut off. */
  readonly turnOver: AbortSignal;
};

/** The ledger or the register has to come further; the request is taken up again later. */
export const LATER = "later" as const;

/** Another request has the wallet: there is nothing to do for this one until that one's end. */
export const WALLET_TAKEN = "wallet taken" as const;

/** Nothing to pay with is free: its lane is given what another request releases. */
export const NONE_FREE = "no gas coin or nonce free" as const;

/** Why a request has not come to its end in this turn. */
export type Waiting = typeof LATER | typeof WALLET_TAKEN | typeof NONE_FREE;

/** A request whose transaction is stored. */
export type SignedRequest = OpenRequest & {
  readonly txId: string;
  readonly signed: Uint8Array;
  readonly groupId: number;
};

/** The request is done. */
export const succeeded = (message: string): Ending => ({ status: "SUCCESS", message });

/** The request comes to no good end. */
export const failed = (
  reason: Extract<Ending, { status: "FAILED" }>["reason"],
  message: string,
): Ending => ({
  status: "FAILED",
  reason,
  message,
});
