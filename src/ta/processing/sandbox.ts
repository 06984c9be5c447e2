/**
 * Investors of the demo ledger whose requests end as their id says, for trying out a caller's handling
 * of every end. Nothing is signed and no wallet changes.
 */
import { FAILURE_REASONS, type FailureReason } from "../requests/failure-reasons.ts";
import { type Ending, failed } from "./request.ts";

/** Such as `sandbox-signing-error`. */
export const sandboxInvestor = (reason: FailureReason): string =>
  `sandbox-${reason.toLowerCase().replaceAll("_", "-")}`;

const ENDINGS: ReadonlyMap<string, Ending> = new Map(
  FAILURE_REASONS.map((reason): [string, Ending] => {
    const message = `sandbox: the investor's id asks for ${reason}`;
    return [
      sandboxInvestor(reason),
      reason === "CALLBACK_DELIVERY_FAILED"
        ? { status: "SUCCESS", message, isUndelivered: true }
        : failed(reason, message),
    ];
  }),
);

/** Undefined for all other investors. */
export const sandboxEnding = (investorId: string): Ending | undefined => ENDINGS.get(investorId);
