/** Vesting grants (`Timelock`), since the package's second version. */
import type { Execution } from "../chain/execution.ts";
import { CLOCK } from "../chain/ids.ts";
import type { GrantModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { address, grantContents, u64 } from "./layouts.ts";
import {
  argumentOf,
  type ContractFunction,
  ensure,
  ensureRole,
  rostersOf,
  type Securities,
  treasuryOf,
  typeOf,
} from "./securities.ts";
import { createToken, ensureEnough, ensureOwner, tokenOf, writeToken } from "./tokens.ts";

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
  const step = passed < steps ? passed : steps;
  return initial + ((terms.totalAmount - initial) * step) / steps;
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
  inputs: (draft, args) => [
    draft.shared(args.token, "write"),
    draft.pure(address(args.recipient)),
    draft.pure(u64(args.totalAmount)),
    draft.pure(u64(args.releaseScheduleId)),
    draft.pure(u64(args.releaseCount)),
    draft.pure(u64(args.delayUntilFirstReleaseMs)),
    draft.pure(u64(args.periodBetweenReleasesMs)),
    draft.pure(u64(args.initialReleasePortionBps)),
    draft.pure(u64(args.commencementTimestampMs)),
  ],
  run: (execution, { token: tokenId, recipient, ...terms }, state) => {
    const { coinType, totalAmount } = terms;
    const token = tokenOf(state, tokenId, coinType, fund.name);
    ensureOwner(execution, token);
    ensure(terms.releaseCount > 0n && terms.initialReleasePortionBps <= 10_000n, {
      name: fund.name,
      code: 3n,
      reason: "the schedule makes no sense",
    });
    ensureEnough(token, totalAmount);
    writeToken(execution, state, { ...token, balance: token.balance - totalAmount });
    const grant: GrantModel = {
      ...terms,
      id: execution.newId(),
      owner: recipient,
      funder: execution.sender,
      tokensTransferred: 0n,
      leftBalance: totalAmount,
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
  inputs: (draft, { grant }) => [draft.shared(grant, "write"), draft.shared(CLOCK, "read")],
  run: (execution, { coinType, grant: id }, state) => {
    const amount = takeClaim(execution, state, coinType, id, claim.name);
    createToken(execution, state, { coinType, owner: execution.sender, balance: amount });
  },
};

/** Moves unlocked tokens of the sender's grant into one of its tokens. */
export const claimInto: ContractFunction<{ grant: string; token: string }> = {
  name: "timelock::claim_into",
  inputs: (draft, { grant, token }) => [
    draft.shared(grant, "write"),
    draft.shared(token, "write"),
    draft.shared(CLOCK, "read"),
  ],
  run: (execution, { coinType, grant: id, token: tokenId }, state) => {
    const amount = takeClaim(execution, state, coinType, id, claimInto.name);
    const token = tokenOf(state, tokenId, coinType, claimInto.name);
    ensureOwner(execution, token);
    writeToken(execution, state, { ...token, balance: token.balance + amount });
  },
};

const takeClaim = (
  execution: Execution,
  state: Securities,
  coinType: string,
  id: string,
  by: string,
): bigint => {
  const grant = grantOf(state, id, coinType, by);
  ensure(grant.owner === execution.sender, {
    name: "timelock::take_claim",
    code: 0n,
    reason: "the sender does not own the grant",
  });
  const amount = claimableAt(grant, execution.timestampMs);
  ensure(amount > 0n, { name: "timelock::take_claim", code: 1n, reason: "nothing is unlocked" });
  writeGrant(execution, state, {
    ...grant,
    tokensTransferred: grant.tokensTransferred + amount,
    leftBalance: grant.leftBalance - amount,
  });
  return amount;
};

/** Moves locked tokens of a grant into a new token of the reclaimer. */
export const cancel: ContractFunction<{ grant: string; reclaimer: string }> = {
  name: "timelock::cancel",
  inputs: (draft, { coinType, grant, reclaimer }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "read"),
    draft.shared(grant, "write"),
    draft.pure(address(reclaimer)),
    draft.shared(CLOCK, "read"),
  ],
  run: (execution, { coinType, grant: id, reclaimer }, state) => {
    ensureRole(execution, state, coinType, "TimelockCanceler");
    const grant = grantOf(state, id, coinType, cancel.name);
    const amount = lockedAt(grant, execution.timestampMs);
    ensure(amount > 0n, { name: cancel.name, code: 4n, reason: "nothing is locked" });
    writeGrant(execution, state, { ...grant, leftBalance: grant.leftBalance - amount });
    createToken(execution, state, { coinType, owner: reclaimer, balance: amount });
  },
};

/** Deletes an empty grant. */
export const destroyEmpty: ContractFunction<{ grant: string }> = {
  name: "timelock::destroy_empty",
  inputs: (draft, { grant }) => [draft.shared(grant, "write")],
  run: (execution, { coinType, grant: id }, state) => {
    const grant = grantOf(state, id, coinType, destroyEmpty.name);
    ensure(grant.leftBalance === 0n, {
      name: destroyEmpty.name,
      code: 2n,
      reason: "the grant holds tokens",
    });
    execution.drop(state.model.grants, id);
    execution.onSuccess(() => strike(rostersOf(state, coinType).grants, id));
    execution.remove(id);
  },
};

const grantOf = (state: Securities, id: string, coinType: string, by: string): GrantModel =>
  argumentOf(state.model.grants.get(id), coinType, by, "no such grant");

const writeGrant = (execution: Execution, state: Securities, grant: GrantModel): void => {
  execution.set(state.model.grants, grant.id, grant);
  execution.write(grant.id, grantContents(grant));
};
