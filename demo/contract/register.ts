/** The holder register: wallets of holders, groups of wallets, and frozen wallets. */
import type { HolderEventModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { removeField, setEntry, setField, typedAddress, typedU64 } from "./fields.ts";
import {
  address,
  addresses,
  bool,
  frozenEvent,
  groupEvent,
  holderAddedEvent,
  holderAddressEvent,
  u64,
} from "./layouts.ts";
import {
  announce,
  type ContractFunction,
  definedBy,
  ensure,
  ensureRole,
  type RunningCall,
  registerOf,
  rostersOf,
  treasuryOf,
  write,
  writeTreasury,
} from "./securities.ts";

/** Registers a holder with wallets: an event per wallet, then one for the holder. */
export const addHolder: ContractFunction<{ holderId: bigint; wallets: readonly string[] }> = {
  name: "group_holder_config::add_holder",
  inputs: ({ treasury, holderId, wallets }) => [write(treasury), u64(holderId), addresses(wallets)],
  run: (call, { holderId, wallets }) => {
    ensureRole(call, "WalletsAdmin");
    const { holders } = registerOf(call.state, call.coinType);
    ensure(!holders.has(holderId), addHolder.name, 0n, "the holder is registered");
    ensure(wallets.length > 0, addHolder.name, 6n, "a holder begins with at least one wallet");
    for (const wallet of wallets) addWallet(call, holderId, wallet);
    announceHolder(call, holderId, wallets);
  },
};

/** Adds a wallet to a holder, registering the holder if new. */
export const addHolderAddress: ContractFunction<{ holderId: bigint; wallet: string }> = {
  name: "group_holder_config::add_holder_address",
  inputs: ({ treasury, holderId, wallet }) => [write(treasury), u64(holderId), address(wallet)],
  run: (call, { holderId, wallet }) => {
    ensureRole(call, "WalletsAdmin");
    const isNew = !registerOf(call.state, call.coinType).holders.has(holderId);
    addWallet(call, holderId, wallet);
    if (isNew) announceHolder(call, holderId, [wallet]);
  },
};

/** Removes a wallet from its holder and group. */
export const removeHolderAddress: ContractFunction<{ holderId: bigint; wallet: string }> = {
  name: "group_holder_config::remove_holder_address",
  inputs: addHolderAddress.inputs,
  run: (call, { holderId, wallet }) => {
    ensureRole(call, "WalletsAdmin");
    const isTheirs = registerOf(call.state, call.coinType).wallets.get(wallet) === holderId;
    ensure(isTheirs, removeHolderAddress.name, 3n, "the wallet is not this holder's");
    removeWallet(call, holderId, wallet);
  },
};

/** Removes a holder after all its wallets. */
export const removeHolder: ContractFunction<{ holderId: bigint }> = {
  name: "group_holder_config::remove_holder",
  inputs: ({ treasury, holderId }) => [write(treasury), u64(holderId)],
  run: (call, { holderId }) => {
    ensureRole(call, "WalletsAdmin");
    const { holders } = registerOf(call.state, call.coinType);
    const wallets = holders.get(holderId);
    ensure(wallets !== undefined, removeHolder.name, 1n, "the holder is not registered");
    for (const wallet of wallets ?? []) removeWallet(call, holderId, wallet);
    setEntry(call, "holders", typedU64(holderId), null);
    call.execution.drop(holders, holderId);
    announceHolderEvent(call, "group_holder_config::HolderRemoved", u64(holderId), {
      eventType: "holder_removed",
      holderId,
    });
  },
};

/** Moves a registered wallet into a group. */
export const setAddressGroup: ContractFunction<{ wallet: string; groupId: bigint }> = {
  name: "group_holder_config::set_address_group",
  inputs: ({ treasury, wallet, groupId }) => [write(treasury), address(wallet), u64(groupId)],
  run: (call, { wallet, groupId }) => {
    ensureRole(call, "WalletsAdmin");
    const { wallets, groups } = registerOf(call.state, call.coinType);
    ensure(wallets.has(wallet), setAddressGroup.name, 3n, "the wallet is not registered");
    const before = groups.get(wallet);
    ensure(before !== groupId, setAddressGroup.name, 4n, "the wallet is in that group");
    if (before !== undefined) announceGroup(call, wallet, before, "left");
    setEntry(call, "groups", typedAddress(wallet), typedU64(groupId));
    call.execution.set(groups, wallet, groupId);
    announceGroup(call, wallet, groupId, "joined");
  },
};

export const clearAddressGroup: ContractFunction<{ wallet: string }> = {
  name: "group_holder_config::clear_address_group",
  inputs: ({ treasury, wallet }) => [write(treasury), address(wallet)],
  run: (call, { wallet }) => {
    ensureRole(call, "WalletsAdmin");
    const { groups } = registerOf(call.state, call.coinType);
    ensure(groups.has(wallet), clearAddressGroup.name, 5n, "the wallet is in no group");
    leaveGroup(call, wallet);
  },
};

export const setAddressFrozen: ContractFunction<{ wallet: string; isFrozen: boolean }> = {
  name: "freeze_rule::set_address_frozen",
  inputs: ({ treasury, wallet, isFrozen }) => [write(treasury), address(wallet), bool(isFrozen)],
  run: (call, { wallet, isFrozen }) => {
    const { execution, state, coinType } = call;
    ensureRole(call, "TransferAdmin");
    const { frozen } = registerOf(state, coinType);
    const isChange = frozen.has(wallet) !== isFrozen;
    ensure(isChange, setAddressFrozen.name, 0n, "nothing would change");
    const treasury = treasuryOf(state, coinType);
    const type = `${definedBy(state, "freeze_rule")}::freeze_rule::FrozenKey`;
    const key = { type, bytes: address(wallet) };
    if (isFrozen) {
      setField(execution, treasury.id, key, { type: "bool", bytes: bool(true) });
      execution.set(frozen, wallet, true);
    } else {
      removeField(execution, treasury.id, key);
      execution.drop(frozen, wallet);
    }
    writeTreasury(call, treasury);
    announceHolderEvent(call, "freeze_rule::AddressFrozen", frozenEvent(wallet, isFrozen), {
      eventType: "address_frozen",
      address: wallet,
      isFrozen,
    });
  },
};

/** Adds a wallet to a holder, registering the holder if new. */
const addWallet = (call: RunningCall, holderId: bigint, wallet: string): void => {
  const { execution, state, coinType } = call;
  const { holders, wallets } = registerOf(state, coinType);
  const by = "group_holder_config::add_wallet";
  ensure(!wallets.has(wallet), by, 2n, "the wallet is registered");
  setWallets(call, holderId, [...(holders.get(holderId) ?? []), wallet]);
  setEntry(call, "wallets", typedAddress(wallet), typedU64(holderId));
  execution.set(wallets, wallet, holderId);
  execution.onSuccess(() => enlist(rostersOf(state, coinType).wallets, wallet));
  announceWallet(call, holderId, wallet, "added");
};

/** Removes a wallet from its holder and group. */
const removeWallet = (call: RunningCall, holderId: bigint, wallet: string): void => {
  const { execution, state, coinType } = call;
  const { holders, wallets, groups } = registerOf(state, coinType);
  if (groups.has(wallet)) leaveGroup(call, wallet);
  const others = (holders.get(holderId) ?? []).filter((other) => other !== wallet);
  setWallets(call, holderId, others);
  setEntry(call, "wallets", typedAddress(wallet), null);
  execution.drop(wallets, wallet);
  execution.onSuccess(() => strike(rostersOf(state, coinType).wallets, wallet));
  announceWallet(call, holderId, wallet, "removed");
};

const setWallets = (call: RunningCall, holderId: bigint, wallets: readonly string[]): void => {
  const value = { type: "vector<address>", bytes: addresses(wallets) };
  setEntry(call, "holders", typedU64(holderId), value);
  call.execution.set(registerOf(call.state, call.coinType).holders, holderId, wallets);
};

const leaveGroup = (call: RunningCall, wallet: string): void => {
  const { groups } = registerOf(call.state, call.coinType);
  const groupId = groups.get(wallet) ?? 0n;
  setEntry(call, "groups", typedAddress(wallet), null);
  call.execution.drop(groups, wallet);
  announceGroup(call, wallet, groupId, "left");
};

const announceWallet = (
  call: RunningCall,
  holderId: bigint,
  wallet: string,
  how: "added" | "removed",
): void => {
  const name = how === "added" ? "HolderAddressAdded" : "HolderAddressRemoved";
  const contents = holderAddressEvent(holderId, wallet);
  announceHolderEvent(call, `group_holder_config::${name}`, contents, {
    eventType: `holder_address_${how}`,
    holderId,
    address: wallet,
  });
};

/** Follows the events of the holder's wallets. */
const announceHolder = (call: RunningCall, holderId: bigint, wallets: readonly string[]): void => {
  const contents = holderAddedEvent(holderId, wallets);
  const event = { eventType: "holder_added", holderId } as const;
  announceHolderEvent(call, "group_holder_config::HolderAdded", contents, event);
};

const announceGroup = (
  call: RunningCall,
  wallet: string,
  groupId: bigint,
  how: "joined" | "left",
): void => {
  const name = how === "joined" ? "AddressJoinedGroup" : "AddressLeftGroup";
  announceHolderEvent(call, `group_holder_config::${name}`, groupEvent(wallet, groupId), {
    eventType: `address_${how}_group`,
    address: wallet,
    groupId,
  });
};

type RegisterEvent = Pick<HolderEventModel, "eventType"> &
  Partial<Pick<HolderEventModel, "holderId" | "address" | "groupId" | "isFrozen">>;

/** @param name `module::Name` of the event's type */
const announceHolderEvent = (
  call: RunningCall,
  name: string,
  contents: Uint8Array,
  event: RegisterEvent,
): void =>
  announce(call, name, contents, call.state.model.holderEvents, {
    holderId: null,
    address: null,
    groupId: null,
    isFrozen: null,
    ...event,
  });
