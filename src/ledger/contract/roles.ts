import { splitType } from "../../values/move-type.ts";
import { ROLES_MODULE } from "./names.ts";

/** Bits of `roleBits` by the role's type name in module `roles`. */
export const ROLE_BITS = {
  ContractAdmin: 1,
  ReserveAdmin: 2,
  WalletsAdmin: 4,
  TransferAdmin: 8,
  TimelockCanceler: 16,
} as const;

const BITS: ReadonlyMap<string, number> = new Map(Object.entries(ROLE_BITS));

/**
 * Bit of a role; 0 for roles of other packages.
 * @param role canonical type
 * @param packages canonical addresses of the security-token package
 */
export const roleBitOf = (role: string, packages: readonly string[]): number => {
  // A type name can be a primitive's, without package.
  if (!role.startsWith("0x")) return 0;
  const { address, module, name, parameters } = splitType(role);
  const ours = packages.includes(address) && module === ROLES_MODULE && parameters.length === 0;
  return ours ? (BITS.get(name) ?? 0) : 0;
};

/** `roleBitOf` for many rows, which repeat a few roles. */
export const roleBits = (packages: readonly string[]): ((role: string) => number) => {
  const known = new Map<string, number>();
  return (role) => {
    const bit = known.get(role) ?? roleBitOf(role, packages);
    known.set(role, bit);
    return bit;
  };
};
