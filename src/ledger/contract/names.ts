/**
 * Types that are read: of the security-token package, and the framework's coin metadata. Facts are
 * selected by these names (`module::Name`).
 */

/** Shared objects. */
export const SHARED_TOKEN = "shared_token::SharedToken";
export const TIMELOCK = "timelock::Timelock";
export const TREASURY = "controlled_treasury::ControlledTreasury";

/** Objects of the framework (0x2). */
export const COIN_METADATA = "coin::CoinMetadata";
export const CURRENCY = "coin_registry::Currency";

export const MINT = "controlled_treasury::Mint";
export const BURN = "controlled_treasury::Burn";
export const ROLE_CHANGE = "controlled_treasury::RoleChange";
export const TRANSFER = "shared_token::Transfer";
export const FORCE_TRANSFER = "shared_token::ForceTransfer";
export const HOLDER_ADDED = "group_holder_config::HolderAdded";
export const HOLDER_REMOVED = "group_holder_config::HolderRemoved";
export const HOLDER_ADDRESS_ADDED = "group_holder_config::HolderAddressAdded";
export const HOLDER_ADDRESS_REMOVED = "group_holder_config::HolderAddressRemoved";
export const ADDRESS_JOINED_GROUP = "group_holder_config::AddressJoinedGroup";
export const ADDRESS_LEFT_GROUP = "group_holder_config::AddressLeftGroup";
export const ADDRESS_FROZEN = "freeze_rule::AddressFrozen";

/** Module of the role types. */
export const ROLES_MODULE = "roles";
