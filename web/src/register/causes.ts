/** Why a balance changed, in plain words. */
export const CAUSES = {
  MINT: "Issued",
  BURN: "Burned",
  TRANSFER: "Transferred",
  FORCE_TRANSFER: "Moved by an administrator",
  GRANT_FUNDED: "Put into a grant",
  GRANT_CLAIMED: "Claimed from a grant",
  GRANT_CANCELLED: "Grant cancelled",
  UNKNOWN: "Not explained by any event",
} as const;
