/** The group a wallet is in, as the ledger says: from the projections. */
import type { Db } from "../../database/connect.ts";
import { newestGroup } from "../../projections/holder-events.ts";
import { groupsBefore } from "../../transfers/groups.ts";
import type { TaAsset } from "./asset.ts";

/** Later than every block. */
const NO_BLOCK = 2n ** 63n - 1n;

/** Group of a wallet (in canonical form) now; null when it is in none. */
export const walletGroup = async (
  db: Db,
  asset: TaAsset,
  wallet: string,
): Promise<bigint | null> => {
  if (asset.ledger === "sui") return newestGroup(db, asset.coinType, wallet);
  const { chainId, address } = asset.token;
  const hex = hexText(wallet);
  const groups = await groupsBefore(
    db,
    { project: asset.project, chainId },
    address,
    new Set([hex]),
    NO_BLOCK,
  );
  // The first region of a wallet with several is the group that records show.
  return groups.get(hex)?.[0] ?? null;
};

const hexText = (text: string): `0x${string}` => `0x${text.slice(2)}`;
