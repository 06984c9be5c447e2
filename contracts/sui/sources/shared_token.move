/// The tokens themselves: shared objects that name their owner. Being shared, they can be moved by the
/// owner and by the issuer's transfer admin alike; being shared, too, they are in no list of owned
/// objects, which is why an indexer is needed to tell who holds what.
module security_token::shared_token;

use sui::balance::Balance;
use sui::event;

/// The sender does not own the token.
const ENotOwner: u64 = 0;
/// The token does not hold as much, or nothing is asked for.
const ENotEnough: u64 = 1;
/// Only two tokens of one owner can be joined.
const EOtherOwner: u64 = 2;

/// Tokens of one owner. A wallet may own any number of these.
///
/// A token has `store` and is shared as soon as it is made. Validators refuse to wrap a shared object
/// into another one, so a token is always an object of its own.
public struct SharedToken<phantom T> has key, store {
    id: UID,
    owner: address,
    balance: Balance<T>,
}

/// A transfer by the owner: the whole object when `token_id` had that owner before, or a new object
/// that holds the amount.
public struct Transfer<phantom T> has copy, drop {
    token_id: ID,
    from: address,
    to: address,
    amount: u64,
}

/// A transfer by the transfer admin.
public struct ForceTransfer<phantom T> has copy, drop {
    token_id: ID,
    from: address,
    to: address,
    amount: u64,
}

// === Public reads ===

public fun owner<T>(token: &SharedToken<T>): address {
    token.owner
}

public fun value<T>(token: &SharedToken<T>): u64 {
    token.balance.value()
}

// === What an owner may do alone ===

/// Moves part of a token into a new one of the same owner.
public fun split<T>(token: &mut SharedToken<T>, amount: u64, ctx: &mut TxContext) {
    token.assert_owner(ctx);
    let part = token.take(amount);
    create(token.owner, part, ctx);
}

/// Pours `from` into `into`; the emptied object is deleted.
public fun join<T>(into: &mut SharedToken<T>, from: SharedToken<T>, ctx: &TxContext) {
    into.assert_owner(ctx);
    assert!(from.owner == into.owner, EOtherOwner);
    let (_, _, balance) = from.destroy();
    into.put(balance);
}

// === Parts of larger operations ===

/// Creates and shares a token; its id.
#[allow(lint(share_owned))]
public(package) fun create<T>(owner: address, balance: Balance<T>, ctx: &mut TxContext): ID {
    let token = SharedToken { id: object::new(ctx), owner, balance };
    let token_id = object::id(&token);
    transfer::share_object(token);
    token_id
}

/// Deletes a token: its id, its owner and what it held.
public(package) fun destroy<T>(token: SharedToken<T>): (ID, address, Balance<T>) {
    let SharedToken { id, owner, balance } = token;
    let token_id = id.to_inner();
    id.delete();
    (token_id, owner, balance)
}

/// Takes an amount out; the object stays, even when nothing is left.
public(package) fun take<T>(token: &mut SharedToken<T>, amount: u64): Balance<T> {
    assert!(amount > 0 && amount <= token.balance.value(), ENotEnough);
    token.balance.split(amount)
}

public(package) fun put<T>(token: &mut SharedToken<T>, balance: Balance<T>) {
    token.balance.join(balance);
}

/// Hands the whole token to another owner.
public(package) fun hand_over<T>(token: &mut SharedToken<T>, to: address) {
    let from = token.owner;
    token.owner = to;
    announce_transfer<T>(object::id(token), from, to, token.balance.value());
}

/// Hands the whole token to another owner without asking the present one.
public(package) fun force_over<T>(token: &mut SharedToken<T>, to: address) {
    let from = token.owner;
    token.owner = to;
    event::emit(ForceTransfer<T> {
        token_id: object::id(token),
        from,
        to,
        amount: token.balance.value(),
    });
}

public(package) fun announce_transfer<T>(token_id: ID, from: address, to: address, amount: u64) {
    event::emit(Transfer<T> { token_id, from, to, amount });
}

public(package) fun assert_owner<T>(token: &SharedToken<T>, ctx: &TxContext) {
    assert!(token.owner == ctx.sender(), ENotOwner);
}
