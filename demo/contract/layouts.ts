/**
 * BCS of the contract's objects and events: the sending side of the layouts that the Move package in
 * `contracts/sui` documents. Kept apart from the decoding side on purpose, so that each checks the
 * other.
 */
import type { GrantModel } from "../model.ts";
import { ByteWriter } from "../wire/byte-writer.ts";

/** A table of the Move framework: its id and how many entries it has. */
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

/** `RoleChange`; the role is a type with its address, as `TypeName` writes it: without `0x`. */
export const roleChangeEvent = (owner: string, role: string, granted: boolean): Uint8Array =>
  new ByteWriter().address(owner).string(typeName(role)).bool(granted).done();

/** `HolderAdded`: the holder and every wallet it starts with. */
export const holderAddedEvent = (holderId: bigint, wallets: readonly string[]): Uint8Array =>
  new ByteWriter()
    .u64(holderId)
    .list(wallets, (writer, wallet) => writer.address(wallet))
    .done();

/** `HolderRemoved`, and the name of a holder in its table. */
export const holderId = (id: bigint): Uint8Array => new ByteWriter().u64(id).done();

/** `HolderAddressAdded`, `HolderAddressRemoved`. */
export const holderAddressEvent = (id: bigint, wallet: string): Uint8Array =>
  new ByteWriter().u64(id).address(wallet).done();

/** `AddressJoinedGroup`, `AddressLeftGroup`. */
export const groupEvent = (wallet: string, groupId: bigint): Uint8Array =>
  new ByteWriter().address(wallet).u64(groupId).done();

/** `AddressFrozen`. */
export const frozenEvent = (wallet: string, isFrozen: boolean): Uint8Array =>
  new ByteWriter().address(wallet).bool(isFrozen).done();

/** An address alone: an argument, or the name of a wallet in its table. */
export const address = (text: string): Uint8Array => new ByteWriter().address(text).done();

/** A u64 alone: an argument, or a value in a table. */
export const u64 = (value: bigint): Uint8Array => new ByteWriter().u64(value).done();

/** A bool alone. */
export const bool = (value: boolean): Uint8Array => new ByteWriter().bool(value).done();

/** Addresses, as an argument or as the wallets of a holder in its table. */
export const addresses = (list: readonly string[]): Uint8Array =>
  new ByteWriter().list(list, (writer, one) => writer.address(one)).done();

/** Name of an entry in the table of roles. */
export const roleKey = (owner: string, role: string): Uint8Array =>
  new ByteWriter().address(owner).string(typeName(role)).done();

/** A type as `std::type_name` prints it. */
const typeName = (type: string): string => type.replaceAll("0x", "");
