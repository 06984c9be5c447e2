/** The contract's roles in plain words. */

/** What each role of the contract allows. */
const ROLES: Readonly<Record<string, { readonly name: string; readonly allows: string }>> = {
  ContractAdmin: { name: "Contract administrator", allows: "gives and takes roles" },
  ReserveAdmin: { name: "Reserve administrator", allows: "issues and burns tokens" },
  WalletsAdmin: { name: "Wallets administrator", allows: "adds wallets and holders, freezes" },
  TransferAdmin: { name: "Transfer administrator", allows: "sets transfer rules, moves tokens" },
  TimelockCanceler: { name: "Grant canceller", allows: "cancels vesting grants" },
};

/** `ContractAdmin` of `0x…::roles::ContractAdmin`. */
const shortRole = (role: string): string => role.split("::").at(-1) ?? role;

/**
 * A role in plain words. Only those of the contract's own package have a bit, and a right: the same name from
 * elsewhere says so.
 */
export const roleName = (role: string, bit: number): string =>
  bit === 0
    ? `${shortRole(role)} of another package`
    : (ROLES[shortRole(role)]?.name ?? shortRole(role));

/** What it allows; of another package nothing here. */
export const roleAllows = (role: string, bit: number): string =>
  bit === 0 ? "gives no right in this token" : (ROLES[shortRole(role)]?.allows ?? "");
