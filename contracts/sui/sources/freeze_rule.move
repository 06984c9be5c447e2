/// Frozen wallets can neither send nor receive, except by a forced transfer.
///
/// First published with the second version of the package, whose address these types therefore carry.
/// The treasury's layout could not change any more, so the marks are dynamic fields of its id.
module security_token::freeze_rule;

use security_token::controlled_treasury::ControlledTreasury;
use security_token::roles::TransferAdmin;
use sui::dynamic_field as field;
use sui::event;

/// The wallet is frozen, or not frozen, already.
const EUnchanged: u64 = 0;

/// Name of the mark that a wallet is frozen; the value is always true.
public struct FrozenKey has copy, drop, store {
    wallet: address,
}

public struct AddressFrozen<phantom T> has copy, drop {
    addr: address,
    is_frozen: bool,
}

/// Freezes a wallet, or releases it. The wallet need not be registered.
public fun set_address_frozen<T>(
    treasury: &mut ControlledTreasury<T>,
    wallet: address,
    frozen: bool,
    ctx: &TxContext,
) {
    treasury.assert_role<T, TransferAdmin>(ctx);
    assert!(is_frozen(treasury, wallet) != frozen, EUnchanged);
    let key = FrozenKey { wallet };
    if (frozen) {
        field::add(treasury.uid_mut(), key, true);
    } else {
        let _: bool = field::remove(treasury.uid_mut(), key);
    };
    event::emit(AddressFrozen<T> { addr: wallet, is_frozen: frozen });
}

public fun is_frozen<T>(treasury: &ControlledTreasury<T>, wallet: address): bool {
    field::exists(treasury.uid(), FrozenKey { wallet })
}
