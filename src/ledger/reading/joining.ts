import type { JoinedPackage } from "../../log/fact.ts";
import { canonicalAddress } from "../../values/move-type.ts";
import type { Checkpoint } from "../decode/checkpoint.ts";

/**
 * Packages that a checkpoint publishes as further versions of these, in chain order.
 *
 * An upgrade's type origins name the version that first defined each type, so an upgrade names an
 * earlier version (unless none defined a type). Validators make this table, and other packages
 * cannot appear with our origins; dependencies are in another table (linkage), which is not read.
 * @param packages addresses in any form `canonicalAddress` accepts
 */
export const joiningPackages = (
  { sequence, transactions }: Checkpoint,
  packages: readonly string[],
): readonly JoinedPackage[] => {
  const known = new Set(packages.map(canonicalAddress));
  const joined: JoinedPackage[] = [];
  for (const [transaction, { packages: published }] of transactions.entries()) {
    // A transaction may upgrade twice: the later version may name only the earlier.
    const inOrder = published.toSorted((a, b) => Number(a.version - b.version));
    for (const { id, typeOrigins } of inOrder) {
      if (known.has(id) || !typeOrigins.some((origin) => known.has(origin))) continue;
      known.add(id);
      joined.push({ address: id, checkpoint: sequence, transaction });
    }
  }
  return joined;
};
