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

/** Types of movements, as in `activityType`. */
export const MOVEMENTS = [
  { value: "mint", label: "Issued", tone: "good" },
  { value: "burn", label: "Burned", tone: "bad" },
  { value: "transfer", label: "Transferred", tone: "plain" },
  { value: "force_transfer", label: "Moved by an administrator", tone: "warn" },
] as const;

/** A type of movement in words. */
export const movementOf = (
  type: string,
): { readonly label: string; readonly tone: (typeof MOVEMENTS)[number]["tone"] } =>
  MOVEMENTS.find(({ value }) => value === type) ?? { label: type, tone: "plain" };

/** Causes of changes of a balance in words. */
export const CAUSES = {
  MINT: "Issued",
  BURN: "Burned",
  TRANSFER: "Transferred",
  FORCE_TRANSFER: "Moved by an administrator",
  GRANT_FUNDED: "Put into a grant",
  GRANT_CLAIMED: "Claimed from a grant",
  GRANT_CANCELLED: "Grant cancelled",
  WALLET_ADDED: "Wallet added",
  WALLET_REMOVED: "Wallet removed",
  UNKNOWN: "Not explained by any event",
} as const;

/** The rights of the contract's roles, in the order of their bits. */
export const RIGHTS = [
  { role: "ContractAdmin", bit: 1, name: "Contract administrator", allows: "Grant roles" },
  { role: "ReserveAdmin", bit: 2, name: "Reserve administrator", allows: "Issue and burn" },
  { role: "WalletsAdmin", bit: 4, name: "Wallets administrator", allows: "Register and freeze" },
  { role: "TransferAdmin", bit: 8, name: "Transfer administrator", allows: "Set rules and move" },
  { role: "TimelockCanceler", bit: 16, name: "Grant canceller", allows: "Cancel grants" },
] as const;

/** The roles of a wallet in words; `roleBits` tells the contract's own from those of the same name elsewhere. */
export const heldRoles = ({
  roles,
  roleBits,
}: {
  readonly roles: readonly string[];
  readonly roleBits: number;
}): readonly { readonly role: string; readonly name: string }[] => {
  let left = roleBits;
  return roles.map((role) => {
    const bit = RIGHTS.find((right) => role.endsWith(`::${right.role}`))?.bit ?? 0;
    const own = left & bit;
    left -= own;
    return { role, name: roleName(role, own) };
  });
};

/** A role in words. A role of another package has bit 0 and no right here, whatever its name. */
export const roleName = (role: string, bit: number): string => {
  // `ContractAdmin` of `0x…::roles::ContractAdmin`.
  const short = role.split("::").at(-1) ?? role;
  return bit === 0
    ? `${short} of another package`
    : (RIGHTS.find((right) => right.bit === bit)?.name ?? short);
};
