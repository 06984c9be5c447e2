/** What the projections say about a wallet: the side of processing that reads. */
import type { Sql } from "../../database/connect.ts";
import { newestGroup } from "../../projections/holder-events.ts";

/** Where a wallet stands in an asset's register. */
export type WalletPlace = {
  /** Whether some holder has it; null where the ledger knows no holders. */
  readonly registered: boolean | null;
  /** Its group; null when it is in none. */
  readonly group: bigint | null;
};

/** A transaction that was executed. */
export type ConfirmedBy = {
  readonly txId: string;
  /** Checkpoint or block; null while the ledger does not say. */
  readonly place: bigint | null;
};

/**
 * What the register shows of an executed transaction: that it put the wallet into the group, or that it
 * found the wallet there, because another one had come first.
 */
export type Confirmation = "put by it" | "found there";

/** The register of one asset, as far as the projections have come. */
export type Register = {
  /** Whether everything up to this checkpoint or block is in it. */
  hasReached(tip: bigint): Promise<boolean>;
  place(wallet: string): Promise<WalletPlace>;
  /** What that transaction did about the wallet and the group, for good; null while it is not shown. */
  confirmed(wallet: string, groupId: number, by: ConfirmedBy): Promise<Confirmation | null>;
  /** Whether this holder has ever been in it. */
  knowsHolder(holderId: bigint): Promise<boolean>;
};

/** The register of a Sui asset, from the projection of its holder events. */
export const suiRegister = (sql: Sql, coinType: string): Register => ({
  hasReached: async (tip) => {
    const [row] = await sql<{ next_checkpoint: bigint }[]>`
      select next_checkpoint from holder_lifecycle_watermark`;
    return row !== undefined && row.next_checkpoint > tip;
  },

  place: async (wallet) => {
    const [membership] = await sql<{ added: boolean }[]>`
      select event_type = 'holder_address_added' as added from holder_events
      where coin_type = ${coinType} and address = ${wallet} and holder_id is not null
      order by position desc limit 1`;
    return {
      registered: membership?.added ?? false,
      group: await newestGroup({ sql }, coinType, wallet),
    };
  },

  // The contract refuses to set a group that a wallet is in: what was executed has its event.
  confirmed: async (wallet, groupId, { txId }) => {
    const found = await sql`
      select 1 from holder_events
      where coin_type = ${coinType} and address = ${wallet} and group_id = ${groupId}
        and event_type = 'address_joined_group' and tx_digest = ${txId}
      limit 1`;
    return found.length === 1 ? "put by it" : null;
  },

  knowsHolder: async (holderId) => {
    const found = await sql`
      select 1 from holder_events
      where coin_type = ${coinType} and holder_id = ${String(holderId)}::numeric limit 1`;
    return found.length === 1;
  },
});

/**
 * Id of the treasury of a coin type, from the log; undefined while it is not there. It stands among
 * the coin's first facts, so the log is read from its beginning until the first of them.
 */
export const treasuryIn = async (sql: Sql, coinType: string): Promise<string | undefined> => {
  const [row] = await sql<{ object_id: string }[]>`
    select object_id from log_facts
    where name = 'controlled_treasury::ControlledTreasury' and coin_type = ${coinType}
      and object_id is not null
    order by checkpoint, transaction, kind, index limit 1`;
  return row?.object_id;
};
