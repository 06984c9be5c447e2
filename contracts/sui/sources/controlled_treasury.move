/// The treasury of a security token: its supply, who may administer it, and the tables of the holder
/// register. One shared object for each coin type.
module security_token::controlled_treasury;

use security_token::roles::{ContractAdmin, ReserveAdmin};
use security_token::shared_token::{Self, SharedToken};
use std::type_name::{Self, TypeName};
use sui::balance::Supply;
use sui::coin::{Self, TreasuryCap};
use sui::event;
use sui::table::{Self, Table};

/// The sender lacks the role this needs.
const EMissingRole: u64 = 0;
/// The wallet has the role.
const ERoleHeld: u64 = 1;
/// The wallet does not have the role.
const ERoleNotHeld: u64 = 2;
/// There is nothing to mint.
const EZeroAmount: u64 = 3;
/// The wallet is in no holder's list.
const EWalletUnknown: u64 = 4;
/// Coins of this type are in circulation already.
const ESupplyNotZero: u64 = 5;

/// An indexer reads `id` and `total_supply`; what follows is the contract's own.
public struct ControlledTreasury<phantom T> has key {
    id: UID,
    total_supply: Supply<T>,
    /// Roles held; the value is always true.
    roles: Table<RoleKey, bool>,
    /// Holder of each wallet.
    wallets: Table<address, u64>,
    /// Group of each wallet that is in one.
    groups: Table<address, u64>,
    /// Wallets of each holder.
    holders: Table<u64, vector<address>>,
}

public struct RoleKey has copy, drop, store {
    owner: address,
    role: TypeName,
}

public struct Mint<phantom T> has copy, drop {
    token_id: ID,
    to: address,
    amount: u64,
}

public struct Burn<phantom T> has copy, drop {
    token_id: ID,
    from: address,
    amount: u64,
}

/// A role was given or taken. `role` is the full name of a type, without `0x`.
public struct RoleChange<phantom T> has copy, drop {
    owner: address,
    role: TypeName,
    granted: bool,
}

// === Beginning ===

/// Takes the right to mint into a new treasury; the sender becomes its ContractAdmin.
public fun create<T>(cap: TreasuryCap<T>, ctx: &mut TxContext) {
    assert!(coin::total_supply(&cap) == 0, ESupplyNotZero);
    let mut treasury = ControlledTreasury<T> {
        id: object::new(ctx),
        total_supply: coin::treasury_into_supply(cap),
        roles: table::new(ctx),
        wallets: table::new(ctx),
        groups: table::new(ctx),
        holders: table::new(ctx),
    };
    treasury.change_role(ctx.sender(), type_name::with_defining_ids<ContractAdmin>(), true);
    transfer::share_object(treasury);
}

// === Roles ===

/// Gives a wallet the role `R`: one of this package, or of any other.
public fun grant_role<T, R>(
    treasury: &mut ControlledTreasury<T>,
    owner: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, ContractAdmin>(ctx);
    let role = type_name::with_defining_ids<R>();
    assert!(!treasury.holds_role(owner, role), ERoleHeld);
    treasury.change_role(owner, role, true);
}

/// Takes the role `R` from a wallet.
public fun revoke_role<T, R>(
    treasury: &mut ControlledTreasury<T>,
    owner: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, ContractAdmin>(ctx);
    let role = type_name::with_defining_ids<R>();
    assert!(treasury.holds_role(owner, role), ERoleNotHeld);
    treasury.change_role(owner, role, false);
}

public fun has_role<T, R>(treasury: &ControlledTreasury<T>, owner: address): bool {
    treasury.holds_role(owner, type_name::with_defining_ids<R>())
}

// === Supply ===

public fun total_supply<T>(treasury: &ControlledTreasury<T>): u64 {
    treasury.total_supply.supply_value()
}

/// Creates tokens for a registered wallet.
public fun mint<T>(
    treasury: &mut ControlledTreasury<T>,
    to: address,
    amount: u64,
    ctx: &mut TxContext,
) {
    treasury.assert_role<T, ReserveAdmin>(ctx);
    assert!(amount > 0, EZeroAmount);
    assert!(treasury.wallets.contains(to), EWalletUnknown);
    let balance = treasury.total_supply.increase_supply(amount);
    let token_id = shared_token::create(to, balance, ctx);
    event::emit(Mint<T> { token_id, to, amount });
}

/// Burns a whole token; the object is deleted.
public fun burn<T>(
    treasury: &mut ControlledTreasury<T>,
    token: SharedToken<T>,
    ctx: &TxContext,
) {
    treasury.assert_role<T, ReserveAdmin>(ctx);
    let (token_id, from, balance) = token.destroy();
    let amount = treasury.total_supply.decrease_supply(balance);
    event::emit(Burn<T> { token_id, from, amount });
}

/// Burns part of a token, or all that is in it; the object stays.
public fun burn_amount<T>(
    treasury: &mut ControlledTreasury<T>,
    token: &mut SharedToken<T>,
    amount: u64,
    ctx: &TxContext,
) {
    treasury.assert_role<T, ReserveAdmin>(ctx);
    let balance = token.take(amount);
    treasury.total_supply.decrease_supply(balance);
    event::emit(Burn<T> { token_id: object::id(token), from: token.owner(), amount });
}

// === For the other modules of this package ===

public(package) fun assert_role<T, R>(treasury: &ControlledTreasury<T>, ctx: &TxContext) {
    assert!(
        treasury.holds_role(ctx.sender(), type_name::with_defining_ids<R>()),
        EMissingRole,
    );
}

public(package) fun uid<T>(treasury: &ControlledTreasury<T>): &UID {
    &treasury.id
}

public(package) fun uid_mut<T>(treasury: &mut ControlledTreasury<T>): &mut UID {
    &mut treasury.id
}

public(package) fun wallets<T>(treasury: &ControlledTreasury<T>): &Table<address, u64> {
    &treasury.wallets
}

public(package) fun wallets_mut<T>(
    treasury: &mut ControlledTreasury<T>,
): &mut Table<address, u64> {
    &mut treasury.wallets
}

public(package) fun groups<T>(treasury: &ControlledTreasury<T>): &Table<address, u64> {
    &treasury.groups
}

public(package) fun groups_mut<T>(
    treasury: &mut ControlledTreasury<T>,
): &mut Table<address, u64> {
    &mut treasury.groups
}

public(package) fun holders<T>(
    treasury: &ControlledTreasury<T>,
): &Table<u64, vector<address>> {
    &treasury.holders
}

public(package) fun holders_mut<T>(
    treasury: &mut ControlledTreasury<T>,
): &mut Table<u64, vector<address>> {
    &mut treasury.holders
}

fun holds_role<T>(treasury: &ControlledTreasury<T>, owner: address, role: TypeName): bool {
    treasury.roles.contains(RoleKey { owner, role })
}

fun change_role<T>(
    treasury: &mut ControlledTreasury<T>,
    owner: address,
    role: TypeName,
    granted: bool,
) {
    let key = RoleKey { owner, role };
    if (granted) {
        treasury.roles.add(key, true);
    } else {
        treasury.roles.remove(key);
    };
    event::emit(RoleChange<T> { owner, role, granted });
}
