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

/** The rights of the contract's roles, in the order of their bits. */
export const RIGHTS = [
  { role: "ContractAdmin", bit: 1, name: "Contract administrator", allows: "Grant roles" },
  { role: "ReserveAdmin", bit: 2, name: "Reserve administrator", allows: "Issue and burn" },
  { role: "WalletsAdmin", bit: 4, name: "Wallets administrator", allows: "Register and freeze" },
  { role: "TransferAdmin", bit: 8, name: "Transfer administrator", allows: "Set rules and move" },
  { role: "TimelockCanceler", bit: 16, name: "Grant canceller", allows: "Cancel grants" },
] as const;

/** A role in words. A role of another package has bit 0 and no right here, whatever its name. */
export const roleName = (role: string, bit: number): string => {
  // `ContractAdmin` of `0x…::roles::ContractAdmin`.
  const short = role.split("::").at(-1) ?? role;
  return bit === 0
    ? `${short} of another package`
    : (RIGHTS.find((right) => right.bit === bit)?.name ?? short);
};
