/** The contract's roles in plain words. */

/** What each role of the contract allows. */
export const ROLES: Readonly<Record<string, { readonly name: string; readonly allows: string }>> = {
  ContractAdmin: { name: "Contract administrator", allows: "gives and takes roles" },
  ReserveAdmin: { name: "Reserve administrator", allows: "issues and burns tokens" },
  WalletsAdmin: { name: "Wallets administrator", allows: "adds wallets and holders, freezes" },
  TransferAdmin: { name: "Transfer administrator", allows: "sets transfer rules, moves tokens" },
  TimelockCanceler: { name: "Grant canceller", allows: "cancels vesting grants" },
};

/** `ContractAdmin` of `0x…::roles::ContractAdmin`. */
export const shortRole = (role: string): string => role.split("::").at(-1) ?? role;

export const roleName = (role: string): string => ROLES[shortRole(role)]?.name ?? shortRole(role);
