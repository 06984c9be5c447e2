/**
 * Notified in every append transaction, so that pipelines in other processes wake. The payload is the
 * log's next checkpoint, decimal.
 */
export const LOG_CHANNEL = "holderbook_log";
