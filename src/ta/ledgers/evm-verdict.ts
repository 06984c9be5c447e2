/**
 * Classifies an EVM node's refusal of a transaction.
 *
 * There is no standard: geth and its forks answer nearly everything with code -32000, others have
 * their own codes, and a provider before the node answers for unrelated reasons. So a transaction
 * counts as refused only with one of the two usual codes and a reason listed here; other errors are
 * retried.
 *
 * Texts of: geth (core/txpool/errors.go, core/error.go) and coreth, erigon (txpoolcfg.go),
 * nethermind (TxPoolErrorMessages.cs), besu (RpcErrorType.java), reth (rpc-eth-types), anvil
 * (eth/error.rs).
 */

export type Verdict =
  /** The node already has it. */
  | { readonly is: "there" }
  /** A transaction with its nonce is mined, this one or another. */
  | { readonly is: "nonce spent" }
  /** The node will never take these bytes; `reason` is from this list, never the node's text. */
  | { readonly is: "refused"; readonly reason: string }
  /** Unrelated to the transaction, or temporary. */
  | { readonly is: "again" };

/** The general server error of geth and its forks, and "transaction rejected" (EIP-1474). */
const REFUSING_CODES: readonly number[] = [-32000, -32003];

const THERE = [
  "already known", // geth, coreth, erigon, nethermind, reth
  "AlreadyKnown", // nethermind before 2026
  "known transaction", // besu, geth before 1.9
  "transaction already imported", // anvil
  "transaction with the same hash was already imported", // openethereum
  "existing tx with same hash", // erigon
  "existing txn with same hash",
];

const NONCE_SPENT = [
  "nonce too low", // all but
  "OldNonce", // nethermind before 2026
  "nonce is too low",
  "transaction nonce is too low", // openethereum
];

/**
 * Reasons in the bytes, the signer's account, or the chain's rules.
 *
 * Omitted, because temporary: fees that rose above the transaction's ("max fee per gas less than
 * block base fee", "transaction underpriced", "fee too low", "gas price below current base fee");
 * another pending transaction with its nonce ("replacement transaction underpriced", "could not
 * replace existing tx"), which is mined or dropped; missing predecessors ("nonce too high"); a node
 * that is full, syncing or busy ("txpool is full", "pending sub-pool is full", "account limit
 * exceeded").
 */
const REFUSED = [
  "insufficient funds for gas * price + value", // geth, coreth, nethermind, reth, anvil
  "insufficient funds for transfer",
  "intrinsic gas too low", // geth, coreth, reth, anvil
  "intrinsic gas exceeds gas limit", // besu
  "intrinsic gas too high", // reth, anvil
  "insufficient gas for floor data gas cost", // geth
  "exceeds block gas limit", // geth, coreth, reth
  "gas limit reached", // nethermind
  "gas limit too high", // reth
  "transaction gas limit too high", // geth
  "transaction gas limit is greater than the block gas limit", // anvil
  "gas uint64 overflow", // geth, coreth, reth, anvil
  "transaction cost overflow", // nethermind
  "max priority fee per gas higher than max fee per gas", // geth, coreth, reth, anvil
  "max priority fee per gas exceeds max fee per gas", // besu
  "max fee per gas higher than 2^256-1", // geth, coreth, reth
  "max priority fee per gas higher than 2^256-1",
  "transaction fee cap exceeded", // besu
  "transaction type not supported", // geth, coreth, reth
  "unsupported transaction type", // nethermind
  "invalid sender", // geth, coreth, erigon
  "failed to recover sender", // nethermind
  "invalid chain id for signer", // geth, anvil
  "invalid chain id", // reth
  "wrong chainId", // besu
  "chainId not supported",
  "sender not an eoa", // geth, coreth, nethermind, anvil
  "sender is not an EOA", // reth
  "nonce has max value", // geth, coreth, reth, anvil
  "oversized data", // geth, coreth, erigon
  "transaction too large", // nethermind
  "negative value", // geth, coreth, erigon
];

/** Erigon's, without figures; with more text they come from another client. */
const REFUSED_ALONE = [
  "insufficient funds",
  "IntrinsicGas",
  "gas limit is too high",
  "GasUintOverflow",
  "RLPTooLong",
];

/** Erigon and some proxies prefix a class: `INTERNAL_ERROR: nonce too low`. */
const CLASS = /^(?:[A-Z]+(?:_[A-Z]+)+|INVALID|STALE|err): /;

/** Another word directly after it makes another reason. */
const ENDS = /^(?!\w)/;

/** Only figures may follow a refusal: more words change its meaning. */
const FIGURES = /^\.?$|^ ?(?:[(:,]|--)/;

/** Funds reserved by other pending transactions; a syncing node. */
const PASSES = /\bqueued cost\b|\bpool not yet in\b/;

/** Geth and coreth: "tx fee (2.10 ether) exceeds the configured cap (1.00 ether)". */
const BEYOND_CAP = /^tx fee \([\d.]+ \w+\) exceeds the configured cap \([\d.]+ \w+\)$/;

/** Classifies a node's error for an offered transaction. */
export const verdictOn = (code: number, details: string): Verdict => {
  const text = details.trim().replace(CLASS, "");
  if (text === "mined" || begins(text, THERE, ENDS) !== undefined) return { is: "there" };
  if (begins(text, NONCE_SPENT, ENDS) !== undefined) return { is: "nonce spent" };
  if (!REFUSING_CODES.includes(code) || PASSES.test(text)) return { is: "again" };
  const reason =
    begins(text, REFUSED, FIGURES) ??
    REFUSED_ALONE.find((alone) => alone === text) ??
    (BEYOND_CAP.test(text) ? "tx fee exceeds the configured cap" : undefined);
  return reason === undefined ? { is: "again" } : { is: "refused", reason };
};

/** The reason that begins a text, if `rest` matches the remainder. */
const begins = (text: string, reasons: readonly string[], rest: RegExp): string | undefined =>
  reasons.find(
    (reason) =>
      text.slice(0, reason.length).toLowerCase() === reason.toLowerCase() &&
      rest.test(text.slice(reason.length)),
  );
