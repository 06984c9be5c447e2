/** Changes of one wallet or holder, shared by the register's functions. */
import type { Execution } from "../chain/execution.ts";
import type { HolderEventModel } from "../model.ts";
import { enlist, strike } from "../random.ts";
import { type FieldName, grown, removeField, setField } from "./fields.ts";
import {
  address,
  addresses,
  groupEvent,
  holderAddedEvent,
  holderAddressEvent,
  u64,
} from "./layouts.ts";
import {
  announce,
  ensure,
  registerOf,
  rostersOf,
  type Securities,
  treasuryOf,
  writeTreasury,
} from "./securities.ts";

type RegisterEvent = Pick<HolderEventModel, "eventType"> &
  Partial<Pick<HolderEventModel, "holderId" | "address" | "groupId" | "isFrozen">>;

/** A call of a register function. */
type RegisterCall = {
  readonly execution: Execution;
  readonly state: Securities;
  /** Name of the called function. */
  readonly by: string;
  readonly coinType: string;
};

/**
 * Emits a register event.
 * @param name `module::Name` of its type
 */
export const announceHolderEvent = (
  { execution, state, by, coinType }: RegisterCall,
  name: string,
  contents: Uint8Array,
  event: RegisterEvent,
): void =>
  announce(
    execution,
    state,
    { by, name, coinType, contents },
    state.model.holderEvents,
    (place) => ({
      ...place,
      holderId: null,
      address: null,
      groupId: null,
      isFrozen: null,
      ...event,
    }),
  );

/** Adds a wallet to a holder, registering the holder if new. */
export const addWallet = (call: RegisterCall, holderId: bigint, wallet: string): void => {
  const { execution, state, coinType } = call;
  const { holders, wallets } = registerOf(state, coinType);
  ensure(!wallets.has(wallet), {
    name: "group_holder_config::add_wallet",
    code: 2n,
    reason: "the wallet is registered",
  });
  const treasury = treasuryOf(state, coinType);
  const others = holders.get(holderId) ?? [];
  const all = [...others, wallet];
  const isNew = setField(execution, holderField(treasury.holders.id, holderId), {
    type: "vector<address>",
    bytes: addresses(all),
  });
  setField(execution, walletField(treasury.wallets.id, wallet), {
    type: "u64",
    bytes: u64(holderId),
  });
  execution.set(holders, holderId, all);
  execution.set(wallets, wallet, holderId);
  writeTreasury(execution, state, {
    ...treasury,
    holders: grown(treasury.holders, isNew ? 1n : 0n),
    wallets: grown(treasury.wallets, 1n),
  });
  execution.onSuccess(() => enlist(rostersOf(state, coinType).wallets, wallet));
  announceHolderEvent(
    call,
    "group_holder_config::HolderAddressAdded",
    holderAddressEvent(holderId, wallet),
    { eventType: "holder_address_added", holderId, address: wallet },
  );
};

/** Removes a wallet from its holder and group. */
export const removeWallet = (call: RegisterCall, holderId: bigint, wallet: string): void => {
  const { execution, state, coinType } = call;
  const { holders, wallets, groups } = registerOf(state, coinType);
  if (groups.has(wallet)) leaveGroup(call, wallet);
  const treasury = treasuryOf(state, coinType);
  const others = (holders.get(holderId) ?? []).filter((other) => other !== wallet);
  setField(execution, holderField(treasury.holders.id, holderId), {
    type: "vector<address>",
    bytes: addresses(others),
  });
  removeField(execution, walletField(treasury.wallets.id, wallet));
  execution.set(holders, holderId, others);
  execution.drop(wallets, wallet);
  writeTreasury(execution, state, { ...treasury, wallets: grown(treasury.wallets, -1n) });
  execution.onSuccess(() => strike(rostersOf(state, coinType).wallets, wallet));
  announceHolderEvent(
    call,
    "group_holder_config::HolderAddressRemoved",
    holderAddressEvent(holderId, wallet),
    { eventType: "holder_address_removed", holderId, address: wallet },
  );
};

/** Follows the events of the holder's wallets. */
export const announceHolder = (
  call: RegisterCall,
  holderId: bigint,
  wallets: readonly string[],
): void =>
  announceHolderEvent(
    call,
    "group_holder_config::HolderAdded",
    holderAddedEvent(holderId, wallets),
    { eventType: "holder_added", holderId },
  );

export const leaveGroup = (call: RegisterCall, wallet: string): void => {
  const { execution, state, coinType } = call;
  const { groups } = registerOf(state, coinType);
  const groupId = groups.get(wallet) ?? 0n;
  const treasury = treasuryOf(state, coinType);
  removeField(execution, walletField(treasury.groups.id, wallet));
  execution.drop(groups, wallet);
  writeTreasury(execution, state, { ...treasury, groups: grown(treasury.groups, -1n) });
  announceGroup(call, wallet, groupId, "left");
};

export const announceGroup = (
  call: RegisterCall,
  wallet: string,
  groupId: bigint,
  how: "joined" | "left",
): void =>
  announceHolderEvent(
    call,
    `group_holder_config::${how === "joined" ? "AddressJoinedGroup" : "AddressLeftGroup"}`,
    groupEvent(wallet, groupId),
    {
      eventType: how === "joined" ? "address_joined_group" : "address_left_group",
      address: wallet,
      groupId,
    },
  );

/** A holder's entry in the table of holders. */
export const holderField = (parent: string, holderId: bigint): FieldName => ({
  parent,
  nameType: "u64",
  name: u64(holderId),
});

/** A wallet's entry in the tables of wallets and groups. */
export const walletField = (parent: string, wallet: string): FieldName => ({
  parent,
  nameType: "address",
  name: address(wallet),
});
