/** The holder register: wallets of holders, and groups of wallets. */
import { grown, removeField, setField } from "./fields.ts";
import {
  address,
  addresses,
  bool,
  frozenEvent,
  holderId as holderIdBytes,
  u64,
} from "./layouts.ts";
import {
  addWallet,
  announceGroup,
  announceHolder,
  announceHolderEvent,
  holderField,
  leaveGroup,
  removeWallet,
  walletField,
} from "./membership.ts";
import {
  type ContractFunction,
  definedBy,
  ensure,
  ensureRole,
  registerOf,
  treasuryOf,
  writeTreasury,
} from "./securities.ts";

/** Registers a holder with wallets: an event per wallet, then one for the holder. */
export const addHolder: ContractFunction<{ holderId: bigint; wallets: readonly string[] }> = {
  name: "group_holder_config::add_holder",
  inputs: (draft, { coinType, holderId, wallets }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(u64(holderId)),
    draft.pure(addresses(wallets)),
  ],
  run: (execution, { coinType, holderId, wallets }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    ensure(!registerOf(state, coinType).holders.has(holderId), {
      name: addHolder.name,
      code: 0n,
      reason: "the holder is registered",
    });
    ensure(wallets.length > 0, {
      name: addHolder.name,
      code: 6n,
      reason: "a holder begins with at least one wallet",
    });
    const call = { execution, state, by: addHolder.name, coinType };
    for (const wallet of wallets) addWallet(call, holderId, wallet);
    announceHolder(call, holderId, wallets);
  },
};

/** Adds a wallet to a holder, registering the holder if new. */
export const addHolderAddress: ContractFunction<{ holderId: bigint; wallet: string }> = {
  name: "group_holder_config::add_holder_address",
  inputs: (draft, { coinType, holderId, wallet }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(u64(holderId)),
    draft.pure(address(wallet)),
  ],
  run: (execution, { coinType, holderId, wallet }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    const isNew = !registerOf(state, coinType).holders.has(holderId);
    const call = { execution, state, by: addHolderAddress.name, coinType };
    addWallet(call, holderId, wallet);
    if (isNew) announceHolder(call, holderId, [wallet]);
  },
};

/** Removes a wallet from its holder and group. */
export const removeHolderAddress: ContractFunction<{ holderId: bigint; wallet: string }> = {
  name: "group_holder_config::remove_holder_address",
  inputs: addHolderAddress.inputs,
  run: (execution, { coinType, holderId, wallet }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    ensure(registerOf(state, coinType).wallets.get(wallet) === holderId, {
      name: removeHolderAddress.name,
      code: 3n,
      reason: "the wallet is not this holder's",
    });
    removeWallet({ execution, state, by: removeHolderAddress.name, coinType }, holderId, wallet);
  },
};

/** Removes a holder after all its wallets. */
export const removeHolder: ContractFunction<{ holderId: bigint }> = {
  name: "group_holder_config::remove_holder",
  inputs: (draft, { coinType, holderId }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(u64(holderId)),
  ],
  run: (execution, { coinType, holderId }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    const { holders } = registerOf(state, coinType);
    const wallets = holders.get(holderId);
    ensure(wallets !== undefined, {
      name: removeHolder.name,
      code: 1n,
      reason: "the holder is not registered",
    });
    const call = { execution, state, by: removeHolder.name, coinType };
    for (const wallet of wallets ?? []) removeWallet(call, holderId, wallet);
    const treasury = treasuryOf(state, coinType);
    removeField(execution, holderField(treasury.holders.id, holderId));
    execution.drop(holders, holderId);
    writeTreasury(execution, state, { ...treasury, holders: grown(treasury.holders, -1n) });
    announceHolderEvent(call, "group_holder_config::HolderRemoved", holderIdBytes(holderId), {
      eventType: "holder_removed",
      holderId,
    });
  },
};

/** Moves a registered wallet into a group. */
export const setAddressGroup: ContractFunction<{ wallet: string; groupId: bigint }> = {
  name: "group_holder_config::set_address_group",
  inputs: (draft, { coinType, wallet, groupId }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(wallet)),
    draft.pure(u64(groupId)),
  ],
  run: (execution, { coinType, wallet, groupId }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    const { wallets, groups } = registerOf(state, coinType);
    ensure(wallets.has(wallet), {
      name: setAddressGroup.name,
      code: 3n,
      reason: "the wallet is not registered",
    });
    const before = groups.get(wallet);
    ensure(before !== groupId, {
      name: setAddressGroup.name,
      code: 4n,
      reason: "the wallet is in that group",
    });
    const call = { execution, state, by: setAddressGroup.name, coinType };
    if (before !== undefined) announceGroup(call, wallet, before, "left");
    const treasury = treasuryOf(state, coinType);
    setField(execution, walletField(treasury.groups.id, wallet), {
      type: "u64",
      bytes: u64(groupId),
    });
    execution.set(groups, wallet, groupId);
    writeTreasury(execution, state, {
      ...treasury,
      groups: grown(treasury.groups, before === undefined ? 1n : 0n),
    });
    announceGroup(call, wallet, groupId, "joined");
  },
};

export const clearAddressGroup: ContractFunction<{ wallet: string }> = {
  name: "group_holder_config::clear_address_group",
  inputs: (draft, { coinType, wallet }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(wallet)),
  ],
  run: (execution, { coinType, wallet }, state) => {
    ensureRole(execution, state, coinType, "WalletsAdmin");
    ensure(registerOf(state, coinType).groups.has(wallet), {
      name: clearAddressGroup.name,
      code: 5n,
      reason: "the wallet is in no group",
    });
    leaveGroup({ execution, state, by: clearAddressGroup.name, coinType }, wallet);
  },
};

export const setAddressFrozen: ContractFunction<{ wallet: string; isFrozen: boolean }> = {
  name: "freeze_rule::set_address_frozen",
  inputs: (draft, { coinType, wallet, isFrozen }, state) => [
    draft.shared(treasuryOf(state, coinType).id, "write"),
    draft.pure(address(wallet)),
    draft.pure(bool(isFrozen)),
  ],
  run: (execution, { coinType, wallet, isFrozen }, state) => {
    ensureRole(execution, state, coinType, "TransferAdmin");
    const { frozen } = registerOf(state, coinType);
    ensure(frozen.has(wallet) !== isFrozen, {
      name: setAddressFrozen.name,
      code: 0n,
      reason: "nothing would change",
    });
    const treasury = treasuryOf(state, coinType);
    const field = {
      parent: treasury.id,
      nameType: `${definedBy(state, "freeze_rule")}::freeze_rule::FrozenKey`,
      name: address(wallet),
    };
    if (isFrozen) {
      setField(execution, field, { type: "bool", bytes: bool(true) });
      execution.set(frozen, wallet, true);
    } else {
      removeField(execution, field);
      execution.drop(frozen, wallet);
    }
    writeTreasury(execution, state, treasury);
    announceHolderEvent(
      { execution, state, by: setAddressFrozen.name, coinType },
      "freeze_rule::AddressFrozen",
      frozenEvent(wallet, isFrozen),
      { eventType: "address_frozen", address: wallet, isFrozen },
    );
  },
};
