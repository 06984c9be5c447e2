/**
 * Steps of one request, in order. Each is recorded before the next one, so any worker can resume it
 * after a crash. A transaction is stored before it is submitted; a request never gets a second one.
 */
import { followTransaction } from "./follow-transaction.ts";
import { adoptHolder, holderIdOf } from "./holder-ids.ts";
import { recordStep } from "./record.ts";
import type { WalletState } from "./register.ts";
import {
  type Ending,
  failed,
  isUpToDate,
  LATER,
  type OpenRequest,
  type StepContext,
  succeeded,
  type Unfinished,
  WALLET_TAKEN,
} from "./request.ts";
import { giveUpReservation } from "./reservations.ts";
import { signTransaction } from "./sign-transaction.ts";
import { waitFor } from "./waiting.ts";
import { claimWallet } from "./wallet-claims.ts";

/**
 * Until the request ends or has to wait.
 * @throws LaneLostError (stop), RelayUnavailableError (retry), and database errors
 */
export const processRequest = async (
  work: StepContext,
  request: OpenRequest,
): Promise<Ending | Unfinished> => {
  if (request.status === "QUEUED") await recordStep(work, request, "taken up");
  // A stored transaction is followed to its end even if the investor's data were deleted meanwhile.
  const { txId, signed: bytes, groupId } = request;
  if (txId !== null && bytes !== null && groupId !== null) {
    return await followTransaction(work, { ...request, txId, signed: bytes, groupId }, "resumed");
  }
  const given = work.asset.endingOf?.(request.investorId);
  if (given !== undefined) return given;
  if (!(await work.vault.holds(request.id))) {
    return failed(
      "PII_STORAGE_ERROR",
      "the investor's data are not stored; send them under a new Idempotency-Key, with a bound signature",
    );
  }
  if (request.kind === "kyc") return succeeded("the investor's data are stored");
  if (request.verifiedStatus !== true) {
    return failed("INVALID_MESSAGE", "verifiedStatus is false: the wallet is not whitelisted");
  }
  if (!(await claimWallet(work, request))) return WALLET_TAKEN;
  const holder = await decide(work, request);
  if (holder === LATER || "status" in holder) return holder;
  const signed = await signTransaction(work, request, holder.joins);
  if (typeof signed === "string" || !("signed" in signed)) return signed;
  return await followTransaction(work, signed, "first");
};

/**
 * Whether the wallet needs a transaction, and the holder to register it under first; null when it is
 * registered. The request has claimed the wallet.
 */
const decide = async (
  work: StepContext,
  request: OpenRequest,
): Promise<Ending | typeof LATER | { readonly joins: bigint | null }> => {
  const { database, asset } = work;
  const { register, whitelistGroupId: groupId } = asset;
  if (!(await isUpToDate(work, request))) return LATER;
  let place = await register.place(request.wallet);
  const isInGroup = () => place.group === BigInt(groupId);
  const isSettled = await waitFor(work, async () => {
    if (isInGroup() && !place.final) place = await register.place(request.wallet);
    return !isInGroup() || place.final;
  });
  if (!isSettled) {
    await giveUpReservation(work, request);
    return LATER;
  }
  const { holderId } = place;
  const isOwn =
    holderId === undefined || (await adoptHolder(database.sql, register, request, holderId));
  if (isInGroup()) {
    return failed("ALREADY_WHITELISTED", `the wallet is in group ${groupId} already`);
  }
  const joins =
    place.registered === false ? await holderIdOf(database.sql, register, request) : null;
  const isNew = joins !== null && !(await register.knowsHolder(joins));
  await recordStep(work, request, described(place, isNew, isOwn));
  return { joins };
};

/** The wallet's place for the request's history, without naming the holder. */
const described = ({ registered, group }: WalletState, isNew: boolean, isOwn: boolean): string => {
  const where = `the wallet is in ${group === null ? "no group" : `group ${group}`}`;
  if (registered === null) return where;
  if (!isOwn) return `${where} and belongs to another holder than the investor's`;
  if (registered) return `${where} and belongs to a holder`;
  return `${where} and belongs to no holder; it joins ${isNew ? "a new one" : "the investor's"}`;
};
