/**
 * Notified by every append, to wake pipelines in other processes. Payload: the log's next
 * checkpoint, decimal.
 */
export const LOG_CHANNEL = "holderbook_log";
