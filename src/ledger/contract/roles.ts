import { canonicalTypeName, splitType } from "../../values/move-type.ts";
import { ROLES_MODULE } from "./names.ts";

/** Bits of the roles in `roleBits`, by the name of their type in the package's module `roles`. */
export const ROLE_BITS = {
  ContractAdmin: 1,
  ReserveAdmin: 2,
  WalletsAdmin: 4,
  TransferAdmin: 8,
  TimelockCanceler: 16,
} as const;

const BITS: ReadonlyMap<string, number> = new Map(Object.entries(ROLE_BITS));

/**
 * The canonical type of a role from the text of its `TypeName`, which has addresses without `0x`.
 * @throws MoveTypeError (stop) when the text is no type
 */
export const canonicalRole = (typeName: string): string => canonicalTypeName(typeName);

/**
 * The bit of a role, or 0: roles of other packages, whatever their name, add none.
 * @param role canonical type of the role
 * @param packages canonical addresses of the security-token package
 */
export const roleBitOf = (role: string, packages: readonly string[]): number => {
  // A type name can also be a primitive's, which has no package.
  if (!role.startsWith("0x")) return 0;
  const { address, module, name, parameters } = splitType(role);
  const ours = packages.includes(address) && module === ROLES_MODULE && parameters.length === 0;
  return ours ? (BITS.get(name) ?? 0) : 0;
};
