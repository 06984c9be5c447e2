/** Layouts of the security-token package's events, in BCS order. */

import { bcs } from "@mysten/sui/bcs";
import { canonicalTypeName } from "../../values/move-type.ts";
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

/** `controlled_treasury::Mint<T>`: tokens were created. */
export const mint = bcs.struct("Mint", { tokenId: address, to: address, amount });
export type Mint = typeof mint.$inferType;
export const decodeMint = decoder(MINT, mint);

/** `controlled_treasury::Burn<T>`: tokens were destroyed. */
export const burn = bcs.struct("Burn", { tokenId: address, from: address, amount });
export type Burn = typeof burn.$inferType;
export const decodeBurn = decoder(BURN, burn);

/** `shared_token::Transfer<T>` and `ForceTransfer<T>`: tokens changed owner. */
export const transfer = bcs.struct("Transfer", {
  tokenId: address,
  from: address,
  to: address,
  amount,
});
export type Transfer = typeof transfer.$inferType;
export const decodeTransfer = decoder(TRANSFER, transfer);
export const decodeForceTransfer = decoder(FORCE_TRANSFER, transfer);

/** `controlled_treasury::RoleChange<T>`: an address gained or lost a role. */
export const roleChange = bcs.struct("RoleChange", {
  owner: address,
  /** Text of a Move `TypeName`. */
  role: bcs.string(),
  granted: bool,
});
/** `role` is the canonical type, of whatever package. */
export type RoleChange = typeof roleChange.$inferType;
export const decodeRoleChange = decoder(
  ROLE_CHANGE,
  roleChange.transform({
    output: (event) => ({ ...event, role: canonicalTypeName(event.role) }),
  }),
);

/** `group_holder_config::HolderAdded<T>`: follows one `HolderAddressAdded` per address. */
export const holderAdded = bcs.struct("HolderAdded", {
  holderId: u64,
  addresses: bcs.vector(address),
});
export type HolderAdded = typeof holderAdded.$inferType;
export const decodeHolderAdded = decoder(HOLDER_ADDED, holderAdded);

/** `group_holder_config::HolderRemoved<T>` */
export const holderRemoved = bcs.struct("HolderRemoved", { holderId: u64 });
export type HolderRemoved = typeof holderRemoved.$inferType;
export const decodeHolderRemoved = decoder(HOLDER_REMOVED, holderRemoved);

/** `group_holder_config::HolderAddressAdded<T>` and `HolderAddressRemoved<T>`. */
export const holderAddress = bcs.struct("HolderAddress", { holderId: u64, addr: address });
export const decodeHolderAddressAdded = decoder(HOLDER_ADDRESS_ADDED, holderAddress);
export const decodeHolderAddressRemoved = decoder(HOLDER_ADDRESS_REMOVED, holderAddress);

/** `group_holder_config::AddressJoinedGroup<T>` and `AddressLeftGroup<T>`. */
export const addressGroup = bcs.struct("AddressGroup", { addr: address, groupId: u64 });
export const decodeAddressJoinedGroup = decoder(ADDRESS_JOINED_GROUP, addressGroup);
export const decodeAddressLeftGroup = decoder(ADDRESS_LEFT_GROUP, addressGroup);

/** `freeze_rule::AddressFrozen<T>`: frozen or unfrozen. */
export const addressFrozen = bcs.struct("AddressFrozen", { addr: address, isFrozen: bool });
export type AddressFrozen = typeof addressFrozen.$inferType;
export const decodeAddressFrozen = decoder(ADDRESS_FROZEN, addressFrozen);
