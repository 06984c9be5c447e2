/// The holder register: holders are persons, each with one or more wallets; every wallet may be in one
/// transfer group. Holder 0 is a holder like any other.
module security_token::group_holder_config;

use security_token::controlled_treasury::ControlledTreasury;
use security_token::roles::WalletsAdmin;
use sui::event;

/// The holder is registered.
const EHolderKnown: u64 = 0;
/// The holder is not registered.
const EHolderUnknown: u64 = 1;
/// The wallet is registered.
const EWalletKnown: u64 = 2;
/// The wallet is not registered, or not with this holder.
const EWalletUnknown: u64 = 3;
/// The wallet is in that group.
const ESameGroup: u64 = 4;
/// The wallet is in no group.
const ENoGroup: u64 = 5;
/// A holder begins with at least one wallet.
const ENoWallets: u64 = 6;

/// A holder was created. Comes after a `HolderAddressAdded` for each of its wallets.
public struct HolderAdded<phantom T> has copy, drop {
    holder_id: u64,
    addresses: vector<address>,
}

/// A holder was removed. Comes after a `HolderAddressRemoved` for each wallet it still had.
public struct HolderRemoved<phantom T> has copy, drop {
    holder_id: u64,
}

public struct HolderAddressAdded<phantom T> has copy, drop {
    holder_id: u64,
    addr: address,
}

public struct HolderAddressRemoved<phantom T> has copy, drop {
    holder_id: u64,
    addr: address,
}

public struct AddressJoinedGroup<phantom T> has copy, drop {
    addr: address,
    group_id: u64,
}

public struct AddressLeftGroup<phantom T> has copy, drop {
    addr: address,
    group_id: u64,
}

// === Holders ===

/// Registers a holder with the wallets it starts with.
public fun add_holder<T>(
    treasury: &mut ControlledTreasury<T>,
    holder_id: u64,
    addresses: vector<address>,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    assert!(!treasury.holders().contains(holder_id), EHolderKnown);
    assert!(!addresses.is_empty(), ENoWallets);
    addresses.do_ref!(|wallet| add_wallet(treasury, holder_id, *wallet));
    event::emit(HolderAdded<T> { holder_id, addresses });
}

/// Adds a wallet to a holder, registering the holder when it is new. With `set_address_group` in the
/// same transaction this is what whitelisting a wallet means.
public fun add_holder_address<T>(
    treasury: &mut ControlledTreasury<T>,
    holder_id: u64,
    wallet: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    let is_new = !treasury.holders().contains(holder_id);
    add_wallet(treasury, holder_id, wallet);
    if (is_new) {
        event::emit(HolderAdded<T> { holder_id, addresses: vector[wallet] });
    };
}

/// Removes a wallet from its holder, and from the group it is in.
public fun remove_holder_address<T>(
    treasury: &mut ControlledTreasury<T>,
    holder_id: u64,
    wallet: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    assert!(
        treasury.wallets().contains(wallet) && treasury.wallets()[wallet] == holder_id,
        EWalletUnknown,
    );
    remove_wallet(treasury, holder_id, wallet);
}

/// Removes a holder with all its wallets.
public fun remove_holder<T>(
    treasury: &mut ControlledTreasury<T>,
    holder_id: u64,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    assert!(treasury.holders().contains(holder_id), EHolderUnknown);
    let addresses = *treasury.holders().borrow(holder_id);
    addresses.do!(|wallet| remove_wallet(treasury, holder_id, wallet));
    treasury.holders_mut().remove(holder_id);
    event::emit(HolderRemoved<T> { holder_id });
}

/// Holder of a wallet; none when it is not registered.
public fun holder_of<T>(treasury: &ControlledTreasury<T>, wallet: address): Option<u64> {
    if (treasury.wallets().contains(wallet)) option::some(treasury.wallets()[wallet])
    else option::none()
}

// === Groups ===

/// Puts a registered wallet into a group, out of the one it is in.
public fun set_address_group<T>(
    treasury: &mut ControlledTreasury<T>,
    wallet: address,
    group_id: u64,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    assert!(treasury.wallets().contains(wallet), EWalletUnknown);
    if (treasury.groups().contains(wallet)) {
        let before = treasury.groups()[wallet];
        assert!(before != group_id, ESameGroup);
        leave_group(treasury, wallet);
    };
    treasury.groups_mut().add(wallet, group_id);
    event::emit(AddressJoinedGroup<T> { addr: wallet, group_id });
}

/// Takes a wallet out of its group.
public fun clear_address_group<T>(
    treasury: &mut ControlledTreasury<T>,
    wallet: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, WalletsAdmin>(ctx);
    assert!(treasury.groups().contains(wallet), ENoGroup);
    leave_group(treasury, wallet);
}

/// Group of a wallet; none when it is in no group.
public fun group_of<T>(treasury: &ControlledTreasury<T>, wallet: address): Option<u64> {
    if (treasury.groups().contains(wallet)) option::some(treasury.groups()[wallet])
    else option::none()
}

// === Steps ===

fun add_wallet<T>(treasury: &mut ControlledTreasury<T>, holder_id: u64, wallet: address) {
    assert!(!treasury.wallets().contains(wallet), EWalletKnown);
    let holders = treasury.holders_mut();
    if (!holders.contains(holder_id)) holders.add(holder_id, vector[]);
    holders.borrow_mut(holder_id).push_back(wallet);
    treasury.wallets_mut().add(wallet, holder_id);
    event::emit(HolderAddressAdded<T> { holder_id, addr: wallet });
}

fun remove_wallet<T>(treasury: &mut ControlledTreasury<T>, holder_id: u64, wallet: address) {
    if (treasury.groups().contains(wallet)) leave_group(treasury, wallet);
    let others = treasury.holders_mut().borrow_mut(holder_id);
    let (_, place) = others.index_of(&wallet);
    others.remove(place);
    treasury.wallets_mut().remove(wallet);
    event::emit(HolderAddressRemoved<T> { holder_id, addr: wallet });
}

fun leave_group<T>(treasury: &mut ControlledTreasury<T>, wallet: address) {
    let group_id = treasury.groups_mut().remove(wallet);
    event::emit(AddressLeftGroup<T> { addr: wallet, group_id });
}
