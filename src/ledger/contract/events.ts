/** Layouts of the events that the security-token package emits, fields in BCS order. */

import { bcs } from "@mysten/sui/bcs";
import { address, amount, bool, decoder, u64 } from "./layout.ts";
import {
  ADDRESS_FROZEN,
  ADDRESS_JOINED_GROUP,
  ADDRESS_LEFT_GROUP,
  BURN,
  FORCE_TRANSFER,
  HOLDER_ADDED,
  HOLDER_ADDRESS_ADDED,
  HOLDER_ADDRESS_REMOVED,
  HOLDER_REMOVED,
  MINT,
  ROLE_CHANGE,
  TRANSFER,
} from "./names.ts";
import { canonicalRole } from "./roles.ts";

/** `controlled_treasury::Mint<T>`: tokens came into being. */
export const mint = bcs.struct("Mint", { tokenId: address, to: address, amount });
export type Mint = typeof mint.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeMint = decoder<Mint>(MINT, mint, "nothing");

/** `controlled_treasury::Burn<T>`: tokens ceased to be. */
export const burn = bcs.struct("Burn", { tokenId: address, from: address, amount });
export type Burn = typeof burn.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeBurn = decoder<Burn>(BURN, burn, "nothing");

/** `shared_token::Transfer<T>` and `ForceTransfer<T>`: tokens changed owner. */
export const transfer = bcs.struct("Transfer", {
  tokenId: address,
  from: address,
  to: address,
  amount,
});
export type Transfer = typeof transfer.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeTransfer = decoder<Transfer>(TRANSFER, transfer, "nothing");
/** @throws ContractLayoutError (stop) */
export const decodeForceTransfer = decoder<Transfer>(FORCE_TRANSFER, transfer, "nothing");

/** `controlled_treasury::RoleChange<T>`: an address may, or may not any more, do something. */
export const roleChange = bcs.struct("RoleChange", {
  owner: address,
  /** The text of a Move `TypeName`. */
  role: bcs.string(),
  granted: bool,
});
/** `role` is the canonical type of the role, whichever package it is from. */
export type RoleChange = typeof roleChange.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeRoleChange = decoder<RoleChange>(
  ROLE_CHANGE,
  roleChange.transform({
    output: (event) => ({ ...event, role: canonicalRole(event.role) }),
  }),
  "nothing",
);

/** `group_holder_config::HolderAdded<T>`: emitted after one `HolderAddressAdded` per address. */
export const holderAdded = bcs.struct("HolderAdded", {
  holderId: u64,
  addresses: bcs.vector(address),
});
export type HolderAdded = typeof holderAdded.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeHolderAdded = decoder<HolderAdded>(HOLDER_ADDED, holderAdded, "nothing");

/** `group_holder_config::HolderRemoved<T>` */
export const holderRemoved = bcs.struct("HolderRemoved", { holderId: u64 });
export type HolderRemoved = typeof holderRemoved.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeHolderRemoved = decoder<HolderRemoved>(HOLDER_REMOVED, holderRemoved, "nothing");

/** `group_holder_config::HolderAddressAdded<T>` and `HolderAddressRemoved<T>`. */
export const holderAddress = bcs.struct("HolderAddress", { holderId: u64, addr: address });
export type HolderAddress = typeof holderAddress.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeHolderAddressAdded = decoder<HolderAddress>(
  HOLDER_ADDRESS_ADDED,
  holderAddress,
  "nothing",
);
/** @throws ContractLayoutError (stop) */
export const decodeHolderAddressRemoved = decoder<HolderAddress>(
  HOLDER_ADDRESS_REMOVED,
  holderAddress,
  "nothing",
);

/** `group_holder_config::AddressJoinedGroup<T>` and `AddressLeftGroup<T>`. */
export const addressGroup = bcs.struct("AddressGroup", { addr: address, groupId: u64 });
export type AddressGroup = typeof addressGroup.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeAddressJoinedGroup = decoder<AddressGroup>(
  ADDRESS_JOINED_GROUP,
  addressGroup,
  "nothing",
);
/** @throws ContractLayoutError (stop) */
export const decodeAddressLeftGroup = decoder<AddressGroup>(
  ADDRESS_LEFT_GROUP,
  addressGroup,
  "nothing",
);

/** `freeze_rule::AddressFrozen<T>`: frozen, or free again. */
export const addressFrozen = bcs.struct("AddressFrozen", { addr: address, isFrozen: bool });
export type AddressFrozen = typeof addressFrozen.$inferType;
/** @throws ContractLayoutError (stop) */
export const decodeAddressFrozen = decoder<AddressFrozen>(ADDRESS_FROZEN, addressFrozen, "nothing");
