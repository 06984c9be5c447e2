/// Moving tokens between wallets, under the rules of the register.
module security_token::transfers;

use security_token::controlled_treasury::ControlledTreasury;
use security_token::freeze_rule;
use security_token::roles::TransferAdmin;
use security_token::shared_token::{Self, SharedToken};

/// The recipient is in no holder's list.
const ENotRegistered: u64 = 0;
/// One of the two wallets is frozen.
const EFrozen: u64 = 1;

/// Hands a whole token of the sender to another wallet. The object stays the same.
public fun transfer<T>(
    treasury: &ControlledTreasury<T>,
    token: &mut SharedToken<T>,
    to: address,
    ctx: &TxContext,
) {
    token.assert_owner(ctx);
    assert_may_move(treasury, token.owner(), to);
    token.hand_over(to);
}

/// Moves an amount out of a token of the sender into a new token of another wallet.
public fun transfer_amount<T>(
    treasury: &ControlledTreasury<T>,
    token: &mut SharedToken<T>,
    to: address,
    amount: u64,
    ctx: &mut TxContext,
) {
    token.assert_owner(ctx);
    assert_may_move(treasury, token.owner(), to);
    let part = token.take(amount);
    let token_id = shared_token::create(to, part, ctx);
    shared_token::announce_transfer<T>(token_id, token.owner(), to, amount);
}

/// Hands a whole token to another wallet, without its owner's consent and past any freeze.
public fun force_transfer<T>(
    treasury: &ControlledTreasury<T>,
    token: &mut SharedToken<T>,
    to: address,
    ctx: &TxContext,
) {
    treasury.assert_role<T, TransferAdmin>(ctx);
    assert_registered(treasury, to);
    token.force_over(to);
}

fun assert_may_move<T>(treasury: &ControlledTreasury<T>, from: address, to: address) {
    assert_registered(treasury, to);
    assert!(
        !freeze_rule::is_frozen(treasury, from) && !freeze_rule::is_frozen(treasury, to),
        EFrozen,
    );
}

fun assert_registered<T>(treasury: &ControlledTreasury<T>, to: address) {
    assert!(treasury.wallets().contains(to), ENotRegistered);
}
