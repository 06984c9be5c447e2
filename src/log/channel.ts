/** Notified in every append transaction, so that pipelines in other processes wake. */
export const LOG_CHANNEL = "holderbook_log";
