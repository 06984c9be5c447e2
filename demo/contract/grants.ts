/** Vesting grants (`Timelock`), since the package's second version. */
import { lowest } from "../../src/values/bigints.ts";
import { CLOCK } from "../chain/ids.ts";
import type { GrantModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { address, grantContents, u64 } from "./layouts.ts";
import {
  argumentOf,
  type ContractFunction,
  ensure,
  ensureRole,
  type RunningCall,
  read,
  rostersOf,
  typeOf,
  write,
} from "./securities.ts";
import { createToken, ensureOwner, takeFrom, tokenOf, writeToken } from "./tokens.ts";

/** Terms of unlocking; times in milliseconds. */
export type Terms = Pick<
  GrantModel,
  | "releaseCount"
  | "delayUntilFirstReleaseMs"
  | "periodBetweenReleasesMs"
  | "initialReleasePortionBps"
  | "commencementTimestampMs"
  | "totalAmount"
>;

const WHOLE_BPS = 10_000n;

/**
 * Unlocked at a time: nothing before commencement plus delay, then the initial portion, then the
 * rest in `releaseCount - 1` equal steps per period, rounded down (all at once for a single
 * release).
 */
const unlockedAt = (terms: Terms, timeMs: bigint): bigint => {
  const start = terms.commencementTimestampMs + terms.delayUntilFirstReleaseMs;
  if (timeMs < start) return 0n;
  const steps = terms.releaseCount - 1n;
  if (steps <= 0n) return terms.totalAmount;
  const initial = (terms.totalAmount * terms.initialReleasePortionBps) / WHOLE_BPS;
  const passed =
    terms.periodBetweenReleasesMs === 0n ? steps : (timeMs - start) / terms.periodBetweenReleasesMs;
  return initial + ((terms.totalAmount - initial) * lowest(passed, steps)) / steps;
};

/** Claimable now; a cancelled grant holds less than its terms unlock. */
export const claimableAt = (
  grant: Terms & Pick<GrantModel, "tokensTransferred" | "leftBalance">,
  timeMs: bigint,
): bigint => {
  const due = unlockedAt(grant, timeMs) - grant.tokensTransferred;
  if (due <= 0n) return 0n;
  if (due > grant.leftBalance) return grant.leftBalance;
  return due;
};

/** Locked now: what a cancellation returns. */
export const lockedAt = (
  grant: Terms & Pick<GrantModel, "tokensTransferred" | "leftBalance">,
  timeMs: bigint,
): bigint => grant.leftBalance - claimableAt(grant, timeMs);

/** Moves tokens of the sender into a new grant. */
export const fund: ContractFunction<
  { token: string; recipient: string; releaseScheduleId: bigint } & Terms
> = {
  name: "timelock::fund",
  inputs: (args) => [
    write(args.token),
    address(args.recipient),
    u64(args.totalAmount),
    u64(args.releaseScheduleId),
    u64(args.releaseCount),
    u64(args.delayUntilFirstReleaseMs),
    u64(args.periodBetweenReleasesMs),
    u64(args.initialReleasePortionBps),
    u64(args.commencementTimestampMs),
  ],
  run: (call, { token: tokenId, recipient, ...terms }) => {
    const { execution, state, coinType } = call;
    const token = tokenOf(call, tokenId);
    ensureOwner(call, token);
    const isValid = terms.releaseCount > 0n && terms.initialReleasePortionBps <= WHOLE_BPS;
    ensure(isValid, fund.name, 3n, "the schedule makes no sense");
    takeFrom(call, token, terms.totalAmount);
    const grant: GrantModel = {
      ...terms,
      coinType,
      id: execution.newId(),
      owner: recipient,
      funder: execution.sender,
      tokensTransferred: 0n,
      leftBalance: terms.totalAmount,
      version: 0n,
      checkpoint: 0n,
    };
    execution.set(state.model.grants, grant.id, grant);
    execution.create(grant.id, {
      type: typeOf(state, "timelock::Timelock", coinType),
      contents: grantContents(grant),
      owner: "share",
      publicTransfer: true,
    });
    execution.onSuccess(() => enlist(rostersOf(state, coinType).grants, grant.id));
  },
};

/** Moves unlocked tokens of the sender's grant into a new token. */
export const claim: ContractFunction<{ grant: string }> = {
  name: "timelock::claim",
  inputs: ({ grant }) => [write(grant), read(CLOCK)],
  run: (call, { grant }) => {
    createToken(call, call.execution.sender, takeClaim(call, grant));
  },
};

/** Moves unlocked tokens of the sender's grant into one of its tokens. */
export const claimInto: ContractFunction<{ grant: string; token: string }> = {
  name: "timelock::claim_into",
  inputs: ({ grant, token }) => [write(grant), write(token), read(CLOCK)],
  run: (call, { grant, token: tokenId }) => {
    const amount = takeClaim(call, grant);
    const token = tokenOf(call, tokenId);
    ensureOwner(call, token);
    writeToken(call, { ...token, balance: token.balance + amount });
  },
};

const takeClaim = (call: RunningCall, id: string): bigint => {
  const grant = grantOf(call, id);
  const by = "timelock::take_claim";
  const isOwner = grant.owner === call.execution.sender;
  ensure(isOwner, by, 0n, "the sender does not own the grant");
  const amount = claimableAt(grant, call.execution.timestampMs);
  ensure(amount > 0n, by, 1n, "nothing is unlocked");
  writeGrant(call, {
    ...grant,
    tokensTransferred: grant.tokensTransferred + amount,
    leftBalance: grant.leftBalance - amount,
  });
  return amount;
};

/** Moves locked tokens of a grant into a new token of the reclaimer. */
export const cancel: ContractFunction<{ grant: string; reclaimer: string }> = {
  name: "timelock::cancel",
  inputs: ({ treasury, grant, reclaimer }) => [
    read(treasury),
    write(grant),
    address(reclaimer),
    read(CLOCK),
  ],
  run: (call, { grant: id, reclaimer }) => {
    ensureRole(call, "TimelockCanceler");
    const grant = grantOf(call, id);
    const amount = lockedAt(grant, call.execution.timestampMs);
    ensure(amount > 0n, cancel.name, 4n, "nothing is locked");
    writeGrant(call, { ...grant, leftBalance: grant.leftBalance - amount });
    createToken(call, reclaimer, amount);
  },
};

/** Deletes an empty grant. */
export const destroyEmpty: ContractFunction<{ grant: string }> = {
  name: "timelock::destroy_empty",
  inputs: ({ grant }) => [write(grant)],
  run: (call, { grant: id }) => {
    const { execution, state, coinType } = call;
    ensure(grantOf(call, id).leftBalance === 0n, destroyEmpty.name, 2n, "the grant holds tokens");
    execution.drop(state.model.grants, id);
    execution.onSuccess(() => strike(rostersOf(state, coinType).grants, id));
    execution.remove(id);
  },
};

const grantOf = (call: RunningCall, id: string): GrantModel =>
  argumentOf(call, call.state.model.grants.get(id), "no such grant");

const writeGrant = ({ execution, state }: RunningCall, grant: GrantModel): void => {
  execution.set(state.model.grants, grant.id, grant);
  execution.write(grant.id, grantContents(grant));
};
