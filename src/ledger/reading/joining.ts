import type { JoinedPackage } from "../../log/fact.ts";
import { canonicalAddress } from "../../values/move-type.ts";
import type { Checkpoint } from "../decode/checkpoint.ts";

/**
 * The packages that a checkpoint publishes as further versions of these, in chain order.
 *
 * An upgrade is told by its table of type origins: for each of its types it names the version that first
 * defined it, so every upgrade names an earlier version, unless no earlier one defined a type. Validators
 * make that table: a new package's types originate in itself, an upgrade's in itself or in earlier
 * versions of the same package. So a package of others cannot name one of these. Merely depending on one
 * is written in another table, the linkage, which is not looked at.
 * @param packages addresses, in any form `canonicalAddress` accepts
 */
export const joiningPackages = (
  { sequence, transactions }: Checkpoint,
  packages: readonly string[],
): readonly JoinedPackage[] => {
  const known = new Set(packages.map(canonicalAddress));
  const joined: JoinedPackage[] = [];
  for (const [transaction, { packages: published }] of transactions.entries()) {
    // A transaction may upgrade twice: the later version may name types of the earlier one alone.
    const inOrder = published.toSorted((a, b) => Number(a.version - b.version));
    for (const { id, typeOrigins } of inOrder) {
      if (known.has(id) || !typeOrigins.some((origin) => known.has(origin))) continue;
      known.add(id);
      joined.push({ address: id, checkpoint: sequence, transaction });
    }
  }
  return joined;
};
