/** A wallet's group and holder, by the projections. */
import type { Sql } from "../../database/connect.ts";
import { guardedReads } from "../../projections/guarded-reads.ts";
import { QuarantinedError } from "../../projections/held-coins.ts";
import {
  holderEventsEnd,
  holderOf,
  joinedGroupBy,
  newestGroup,
  wasHolder,
} from "../../projections/holder-events.ts";
import { FOR_HOLDERS } from "../../projections/needed.ts";
import { RebuildingError } from "../../projections/past.ts";
import { groupSetBy, groupsBeforeTransaction } from "../../transfers/groups.ts";
import { heldToken, holdsOf } from "../../transfers/holds.ts";
import { finalRecordsEnd, recordsEnd } from "../../transfers/progress.ts";
import { hexText } from "../../values/hex-bytes.ts";
import type { Executed } from "../ledgers/relay.ts";
import type { TaAsset } from "../requests/asset.ts";

export type WalletState = {
  /** Whether it belongs to a holder; null on a ledger without holders. */
  readonly registered: boolean | null;
  readonly holderId?: bigint;
  /** Its group; null when it is in none. */
  readonly group: bigint | null;
  /** Whether no reorganisation can take that back. */
  readonly final: boolean;
};

/** An executed transaction. */
type ConfirmedBy = Pick<Executed, "place" | "index"> & { readonly txId: string };

/** `found there`: another transaction put the wallet into the group first. */
export type Confirmation = "put by it" | "found there";

/** Shown in a block that is not final, or the register is being rebuilt. */
export const NOT_FINAL = "not final" as const;

export type Register = {
  /** Whether everything up to this checkpoint or block is in it. */
  hasReached(tip: bigint): Promise<boolean>;
  /** Null on a ledger without reorganisations. Later look-ups at this block or below are final. */
  finalPlace(): Promise<bigint | null>;
  place(wallet: string): Promise<WalletState>;
  /** The effect of the transaction; null while it is not shown. */
  confirmed(
    wallet: string,
    groupId: number,
    by: ConfirmedBy,
  ): Promise<Confirmation | typeof NOT_FINAL | null>;
  /** Whether this holder has ever been in it. */
  knowsHolder(holderId: bigint): Promise<boolean>;
};

export const registerOf = (sql: Sql, asset: TaAsset): Register => {
  if (asset.ledger === "sui") return suiRegister(sql, asset.coinType);
  const { chainId, address: token } = asset.token;
  return evmRegister(sql, { project: asset.project, chainId, token });
};

/**
 * During a rebuild look-ups throw a RebuildingError (wait), and while the coin is held a QuarantinedError (wait): a wallet
 * not yet restored is not new.
 */
export const suiRegister = (sql: Sql, coinType: string): Register => {
  const readsNow = () => guardedReads({ sql }, FOR_HOLDERS).ofCoin(coinType);
  return {
    hasReached: async (tip) => {
      const end = await holderEventsEnd({ sql });
      return end !== null && end > tip;
    },

    finalPlace: async () => null,

    place: async (wallet) => {
      const reads = readsNow();
      const holderId = await holderOf(reads, coinType, wallet);
      return {
        registered: holderId !== null,
        ...(holderId !== null && { holderId }),
        group: await newestGroup(reads, coinType, wallet),
        final: true,
      };
    },

    // The contract refuses to set the group that a wallet is in, so every execution has an event.
    confirmed: async (wallet, groupId, { txId }) => {
      const reads = readsNow();
      try {
        return (await joinedGroupBy(reads, coinType, wallet, groupId, txId)) ? "put by it" : null;
      } catch (error) {
        // Its event may not be restored yet.
        if (error instanceof RebuildingError || error instanceof QuarantinedError) return NOT_FINAL;
        throw error;
      }
    },

    knowsHolder: (holderId) => wasHolder(readsNow(), coinType, holderId),
  };
};

type Hex = `0x${string}`;

/** Later than every transaction. */
const NOW = { block: 2n ** 63n - 1n, index: 0 };

/** @throws QuarantinedError (wait) while the token is held */
const assertServed = async (sql: Sql, scope: EvmScope): Promise<void> => {
  const hold = (await holdsOf({ sql }, scope)).find(({ token }) => token === scope.token);
  if (hold === undefined) return;
  const { pipeline, coinType, ...held } = heldToken(hold);
  throw new QuarantinedError(pipeline, coinType, held);
};

type EvmScope = { readonly project: string; readonly chainId: number; readonly token: Hex };

/** For a token with transfer groups; EVM ledgers have no holders. */
export const evmRegister = (sql: Sql, scope: EvmScope): Register => {
  const finalPlace = async () => (await finalRecordsEnd({ sql }, scope, scope.token)) ?? -1n;
  /**
   * Group of a wallet just before a transaction; null when it was never put into one, which the contract
   * shows as group 0. The assets file refuses 0 as the group of whitelisted wallets.
   */
  const groupBefore = async (wallet: string, at: typeof NOW) => {
    const found = await groupsBeforeTransaction({ sql }, scope, scope.token, hexText(wallet), at);
    return { group: found?.groups[0] ?? null, block: found?.block ?? -1n };
  };
  return {
    hasReached: async (tip) => {
      const end = await recordsEnd({ sql }, scope, scope.token);
      return end !== null && end > tip;
    },

    finalPlace,

    place: async (wallet) => {
      await assertServed(sql, scope);
      // Read first: what is then found at that block or below is final.
      const finalBlock = await finalPlace();
      const { group, block } = await groupBefore(wallet, NOW);
      return { registered: null, group, final: block <= finalBlock };
    },

    confirmed: async (wallet, groupId, { txId, place, index }) => {
      const set = { wallet: hexText(wallet), group: BigInt(groupId), txHash: hexText(txId) };
      const put = await groupSetBy({ sql }, scope, scope.token, set);
      // Only a final block counts: what a reorganisation may undo is not a result.
      if (put !== null) return put.final ? "put by it" : NOT_FINAL;
      if (place === null || index === undefined || place > (await finalPlace())) return null;
      // Versions 3 and 4 log nothing for a group that the wallet is in already. Later in the same block it
      // may have been moved on.
      const { group } = await groupBefore(wallet, { block: place, index });
      return group === BigInt(groupId) ? "found there" : null;
    },

    knowsHolder: async () => false,
  };
};
