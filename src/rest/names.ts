/** Names of the transfer events API that several files spell. */

/** Where the list is. */
export const LIST_PATH = "/r/api/v2/transfer_events";

/** Header field of the project's key. */
export const KEY_HEADER = "X-Project-Api-Key";
