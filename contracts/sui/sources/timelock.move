/// Vesting grants: tokens set aside for an owner, unlocked bit by bit.
///
/// First published with the second version of the package, whose address this type therefore carries.
/// Funding, claiming and cancelling emit no event of their own: they move tokens inside the register.
module security_token::timelock;

use security_token::controlled_treasury::ControlledTreasury;
use security_token::roles::TimelockCanceler;
use security_token::shared_token::{Self, SharedToken};
use sui::balance::Balance;
use sui::clock::Clock;

/// The sender does not own the grant.
const ENotOwner: u64 = 0;
/// Nothing is unlocked that was not claimed.
const ENothingUnlocked: u64 = 1;
/// The grant holds tokens.
const ENotEmpty: u64 = 2;
/// There is at least one release, and no portion above the whole.
const EBadSchedule: u64 = 3;
/// Nothing is locked any more.
const ENothingLocked: u64 = 4;

/// The whole, in basis points.
const WHOLE_BPS: u64 = 10_000;

/// A grant; times in milliseconds. `left_balance` is what it still holds: the total less what was
/// claimed and what was cancelled.
public struct Timelock<phantom T> has key, store {
    id: UID,
    owner: address,
    funder: address,
    release_schedule_id: u64,
    release_count: u64,
    delay_until_first_release_ms: u64,
    period_between_releases_ms: u64,
    initial_release_portion_bps: u64,
    commencement_timestamp_ms: u64,
    total_amount: u64,
    tokens_transferred: u64,
    left_balance: Balance<T>,
}

// === Funding ===

/// Takes tokens out of a token of the sender into a new grant for `recipient`.
#[allow(lint(share_owned))]
public fun fund<T>(
    token: &mut SharedToken<T>,
    recipient: address,
    total_amount: u64,
    release_schedule_id: u64,
    release_count: u64,
    delay_until_first_release_ms: u64,
    period_between_releases_ms: u64,
    initial_release_portion_bps: u64,
    commencement_timestamp_ms: u64,
    ctx: &mut TxContext,
) {
    token.assert_owner(ctx);
    assert!(release_count > 0 && initial_release_portion_bps <= WHOLE_BPS, EBadSchedule);
    let left_balance = token.take(total_amount);
    transfer::share_object(Timelock {
        id: object::new(ctx),
        owner: recipient,
        funder: ctx.sender(),
        release_schedule_id,
        release_count,
        delay_until_first_release_ms,
        period_between_releases_ms,
        initial_release_portion_bps,
        commencement_timestamp_ms,
        total_amount,
        tokens_transferred: 0,
        left_balance,
    });
}

// === Claiming ===

/// Takes what is unlocked into a new token of the owner.
public fun claim<T>(timelock: &mut Timelock<T>, clock: &Clock, ctx: &mut TxContext) {
    let owner = timelock.owner;
    let balance = timelock.take_claim(clock, ctx);
    shared_token::create(owner, balance, ctx);
}

/// Takes what is unlocked into a token that the owner has.
public fun claim_into<T>(
    timelock: &mut Timelock<T>,
    token: &mut SharedToken<T>,
    clock: &Clock,
    ctx: &TxContext,
) {
    let balance = timelock.take_claim(clock, ctx);
    token.assert_owner(ctx);
    token.put(balance);
}

// === Ending ===

/// Takes what is still locked into a new token of the reclaimer; the owner can still claim the rest.
public fun cancel<T>(
    treasury: &ControlledTreasury<T>,
    timelock: &mut Timelock<T>,
    reclaimer: address,
    clock: &Clock,
    ctx: &mut TxContext,
) {
    treasury.assert_role<T, TimelockCanceler>(ctx);
    let locked = timelock.left_balance.value() - timelock.claimable(clock.timestamp_ms());
    assert!(locked > 0, ENothingLocked);
    let balance = timelock.left_balance.split(locked);
    shared_token::create(reclaimer, balance, ctx);
}

/// Deletes a grant that holds nothing any more. Any account may.
public fun destroy_empty<T>(timelock: Timelock<T>) {
    assert!(timelock.left_balance.value() == 0, ENotEmpty);
    let Timelock { id, left_balance, .. } = timelock;
    left_balance.destroy_zero();
    id.delete();
}

// === The schedule ===

/// What is unlocked at a time, claimed or not, as if nothing was ever cancelled.
///
/// Before commencement and delay nothing is; then the initial portion; then the rest in
/// `release_count - 1` equal steps, one every period, each rounded down. With one release only,
/// everything at once.
public fun unlocked<T>(timelock: &Timelock<T>, at_ms: u64): u64 {
    let first =
        (timelock.commencement_timestamp_ms as u128) +
        (timelock.delay_until_first_release_ms as u128);
    if ((at_ms as u128) < first) return 0;
    let total = timelock.total_amount;
    let steps = timelock.release_count - 1;
    if (steps == 0) return total;
    let initial = portion(total, timelock.initial_release_portion_bps, WHOLE_BPS);
    let period = timelock.period_between_releases_ms;
    let passed = if (period == 0) steps else ((at_ms - (first as u64)) / period).min(steps);
    initial + portion(total - initial, passed, steps)
}

/// What the owner can claim at a time.
public fun claimable<T>(timelock: &Timelock<T>, at_ms: u64): u64 {
    let unlocked = timelock.unlocked(at_ms);
    if (unlocked <= timelock.tokens_transferred) return 0;
    (unlocked - timelock.tokens_transferred).min(timelock.left_balance.value())
}

fun take_claim<T>(timelock: &mut Timelock<T>, clock: &Clock, ctx: &TxContext): Balance<T> {
    assert!(timelock.owner == ctx.sender(), ENotOwner);
    let amount = timelock.claimable(clock.timestamp_ms());
    assert!(amount > 0, ENothingUnlocked);
    timelock.tokens_transferred = timelock.tokens_transferred + amount;
    timelock.left_balance.split(amount)
}

/// `amount * part / whole`, rounded down, without overflow on the way.
fun portion(amount: u64, part: u64, whole: u64): u64 {
    (((amount as u128) * (part as u128) / (whole as u128)) as u64)
}
