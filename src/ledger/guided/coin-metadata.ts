/** Metadata of the contract's coins, which no function of the contract makes. */
import { splitType } from "../../values/move-type.ts";
import type { Missing } from "./discovered.ts";
import type { Discovery } from "./discovery.ts";

/**
 * Reads the metadata of a coin: what the node names, and all that its package's publication made.
 * Gives the objects whose transaction cannot be had, though it may be of the range.
 */
export const readMetadata = async (
  { index, findings, intake, report, range, signal }: Discovery,
  coinType: string,
): Promise<readonly Missing[]> => {
  report.step = "metadata";
  const home = splitType(coinType).address;
  const named = await index.metadataOf(coinType, signal);
  const unknown = named.filter((id) => findings.chains.get(id) === undefined);
  const wanted = findings.coinsInLog.has(coinType) ? unknown : [...unknown, home];
  const heads = await index.heads(wanted, signal);
  const missing: Missing[] = [];
  const tried = new Set<string>();
  for (const objectId of wanted) {
    const head = heads.get(objectId) ?? null;
    if (head === null || tried.has(head.previousTransaction)) continue;
    tried.add(head.previousTransaction);
    const { checkpoint, reason } = await intake.transaction(head.previousTransaction, objectId);
    // Nothing before the range can be appended.
    if (reason === null || (checkpoint !== null && checkpoint < range.first)) continue;
    missing.push({ objectId, coinType, version: head.version, after: null, reason });
  }
  return missing;
};
