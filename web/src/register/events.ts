/** Events of the holder register in plain words. */

/** What a `HolderEvent` says, without whom it concerns. */
export const saidOf = (event: {
  readonly eventType: string;
  readonly holderId: string | null;
  readonly groupId: string | null;
  readonly isFrozen: boolean | null;
}): string => {
  const { eventType, holderId, groupId, isFrozen } = event;
  if (eventType === "address_frozen") return isFrozen ? "Wallet frozen" : "Wallet released";
  if (eventType === "address_joined_group") return `Joined transfer group ${groupId}`;
  if (eventType === "address_left_group") return `Left transfer group ${groupId}`;
  if (eventType === "holder_address_added") return `Wallet added to holder ${holderId}`;
  if (eventType === "holder_address_removed") return `Wallet removed from holder ${holderId}`;
  if (eventType === "holder_added") return `Holder ${holderId} entered`;
  if (eventType === "holder_removed") return `Holder ${holderId} removed`;
  return eventType;
};
