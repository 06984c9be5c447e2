/**
 * BCS encoders of the contract's objects and events, as documented by the Move package in
 * `contracts/sui`. Separate from the decoders, so that each tests the other.
 */
import type { GrantModel } from "../model.ts";
import { ByteWriter } from "../wire/byte-writer.ts";

/** A Move table: id and number of entries. */
export type Table = { readonly id: string; readonly size: bigint };

/** Contents of `shared_token::SharedToken<T>`. */
export const tokenContents = (token: {
  readonly id: string;
  readonly owner: string;
  readonly balance: bigint;
}): Uint8Array => new ByteWriter().address(token.id).address(token.owner).u64(token.balance).done();

/** Contents of `timelock::Timelock<T>`. */
export const grantContents = (grant: Omit<GrantModel, "version" | "checkpoint">): Uint8Array =>
  new ByteWriter()
    .address(grant.id)
    .address(grant.owner)
    .address(grant.funder)
    .u64(grant.releaseScheduleId)
    .u64(grant.releaseCount)
    .u64(grant.delayUntilFirstReleaseMs)
    .u64(grant.periodBetweenReleasesMs)
    .u64(grant.initialReleasePortionBps)
    .u64(grant.commencementTimestampMs)
    .u64(grant.totalAmount)
    .u64(grant.tokensTransferred)
    .u64(grant.leftBalance)
    .done();

/** Contents of `controlled_treasury::ControlledTreasury<T>`. */
export const treasuryContents = (
  treasury: {
    readonly id: string;
    readonly roles: Table;
    readonly wallets: Table;
    readonly groups: Table;
    readonly holders: Table;
  },
  supply: bigint,
): Uint8Array => {
  const writer = new ByteWriter().address(treasury.id).u64(supply);
  for (const table of [treasury.roles, treasury.wallets, treasury.groups, treasury.holders]) {
    writer.address(table.id).u64(table.size);
  }
  return writer.done();
};

/** `Mint`, `Burn`: token, address, amount. */
export const supplyEvent = (tokenId: string, address: string, amount: bigint): Uint8Array =>
  new ByteWriter().address(tokenId).address(address).u64(amount).done();

/** `Transfer`, `ForceTransfer`: token, from, to, amount. */
export const transferEvent = (
  tokenId: string,
  from: string,
  to: string,
  amount: bigint,
): Uint8Array => new ByteWriter().address(tokenId).address(from).address(to).u64(amount).done();

/** `RoleChange`; the role as in `TypeName`, without `0x`. */
export const roleChangeEvent = (owner: string, role: string, granted: boolean): Uint8Array =>
  new ByteWriter().address(owner).string(typeName(role)).bool(granted).done();

/** `HolderAdded`: holder and initial wallets. */
export const holderAddedEvent = (holderId: bigint, wallets: readonly string[]): Uint8Array =>
  new ByteWriter()
    .u64(holderId)
    .list(wallets, (writer, wallet) => writer.address(wallet))
    .done();

/** `HolderAddressAdded`, `HolderAddressRemoved`. */
export const holderAddressEvent = (id: bigint, wallet: string): Uint8Array =>
  new ByteWriter().u64(id).address(wallet).done();

/** `AddressJoinedGroup`, `AddressLeftGroup`. */
export const groupEvent = (wallet: string, groupId: bigint): Uint8Array =>
  new ByteWriter().address(wallet).u64(groupId).done();

export const frozenEvent = (wallet: string, isFrozen: boolean): Uint8Array =>
  new ByteWriter().address(wallet).bool(isFrozen).done();

/** An argument, or a wallet's name in its table. */
export const address = (text: string): Uint8Array => new ByteWriter().address(text).done();

/** An argument, a holder's name or value in a table, or the event `HolderRemoved`. */
export const u64 = (value: bigint): Uint8Array => new ByteWriter().u64(value).done();

export const bool = (value: boolean): Uint8Array => new ByteWriter().bool(value).done();

/** An argument, or a holder's wallets in its table. */
export const addresses = (list: readonly string[]): Uint8Array =>
  new ByteWriter().list(list, (writer, one) => writer.address(one)).done();

/** Name of an entry in the table of roles. */
export const roleKey = (owner: string, role: string): Uint8Array =>
  new ByteWriter().address(owner).string(typeName(role)).done();

/** A type as `std::type_name` prints it. */
const typeName = (type: string): string => type.replaceAll("0x", "");
