/** Events and roles of the register in words. */

/** A `HolderEvent` in words, without the wallet. */
export const eventText = (event: {
  readonly eventType: string;
  readonly holderId: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean | null;
}): string => {
  const { eventType, holderId, groupId, isFrozen } = event;
  if (eventType === "address_frozen") return isFrozen ? "Wallet frozen" : "Wallet unfrozen";
  if (eventType === "address_joined_group") return `Joined transfer group ${groupId}`;
  if (eventType === "address_left_group") return `Left transfer group ${groupId}`;
  if (eventType === "holder_address_added") return `Wallet added to holder ${holderId}`;
  if (eventType === "holder_address_removed") return `Wallet removed from holder ${holderId}`;
  if (eventType === "holder_added") return `Holder ${holderId} added`;
  if (eventType === "holder_removed") return `Holder ${holderId} removed`;
  return eventType;
};

/** The roles of the contract, and what each allows. */
const ROLES: Readonly<Record<string, { readonly name: string; readonly allows: string }>> = {
  ContractAdmin: { name: "Contract administrator", allows: "grants and revokes roles" },
  ReserveAdmin: { name: "Reserve administrator", allows: "issues and burns tokens" },
  WalletsAdmin: { name: "Wallets administrator", allows: "adds wallets and holders, freezes" },
  TransferAdmin: { name: "Transfer administrator", allows: "sets transfer rules, moves tokens" },
  TimelockCanceler: { name: "Grant canceller", allows: "cancels vesting grants" },
};

/** `ContractAdmin` of `0x…::roles::ContractAdmin`. */
const shortRole = (role: string): string => role.split("::").at(-1) ?? role;

/** A role in words. A role of another package has bit 0 and no right here, whatever its name. */
export const roleName = (role: string, bit: number): string =>
  bit === 0
    ? `${shortRole(role)} of another package`
    : (ROLES[shortRole(role)]?.name ?? shortRole(role));

/** What a role allows. */
export const roleAllows = (role: string, bit: number): string =>
  bit === 0 ? "gives no right in this token" : (ROLES[shortRole(role)]?.allows ?? "");
