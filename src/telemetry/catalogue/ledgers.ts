/** Metrics of ledgers and their pipelines. */
import { COUNTS, counter, gauge, histogram, known, QUICK, REMOTE } from "./describing.ts";

const OF_CHAIN = ["chain", "network"];

/** Parts in the order of the documentation. */
export const LEDGERS = {
  ingest: {
    holderbook_reader_checkpoint: known("checkpoint", "Last checkpoint in the log"),
    holderbook_reader_tip_checkpoint: known("checkpoint", "Newest known checkpoint of the chain"),
    holderbook_reader_lag_checkpoints: known("checkpoints", "Checkpoints not read yet"),
    holderbook_reader_age_seconds: known("seconds", "Age of the last checkpoint in the log"),
    holderbook_reader_stalled: known("1", "1 while the reader has a backlog and makes no progress"),
    holderbook_reader_checkpoints_total: counter("checkpoints", "Checkpoints appended to the log"),
    holderbook_reader_skipped_checkpoints_total: counter(
      "checkpoints",
      "Appended checkpoints without facts, by the prefilter",
    ),
    holderbook_reader_facts_total: counter("facts", "Facts appended to the log"),
    holderbook_reader_bytes_total: counter("bytes", "Bytes of appended checkpoints, as received"),
    holderbook_reader_batch_checkpoints: histogram(
      "checkpoints",
      COUNTS,
      "Checkpoints per append; 1 at the tip",
    ),
    holderbook_reader_batch_facts: histogram("facts", COUNTS, "Facts per append"),
    holderbook_reader_append_seconds: histogram(
      "seconds",
      QUICK,
      "From a batch that is read and proven to its commit",
    ),
    holderbook_reader_retries_total: counter("times", "Retries of reading after transient errors"),
    holderbook_guided_checkpoints_total: counter(
      "checkpoints",
      "Checkpoints fetched and verified by guided reading, appended or not",
    ),
    holderbook_guided_bytes_total: counter(
      "bytes",
      "Bytes of checkpoints that guided reading fetched",
    ),
    holderbook_guided_objects: gauge("objects", "Objects whose chains guided reading follows"),
    holderbook_guided_open_objects: gauge(
      "objects",
      "Of these, objects whose chain of versions still has a gap",
    ),
    holderbook_backfill_ranges: gauge(
      "ranges",
      "Ranges of a backfill by many workers: waiting to be read, read and waiting to be appended, failed",
      ["state"],
    ),
    holderbook_backfill_workers: gauge("workers", "Workers that read a range in the last minute"),
    holderbook_backfill_checkpoints_per_second: gauge(
      "checkpoints",
      "Checkpoints that a backfill by many workers appends a second, over five minutes at most",
    ),
    holderbook_backfill_left_seconds: gauge(
      "seconds",
      "Time left of a backfill by many workers at this rate; infinite while it appends nothing",
    ),
  },
  pipelines: {
    holderbook_pipeline_checkpoint: known("checkpoint", "Last checkpoint of a pipeline", [
      "pipeline",
    ]),
    holderbook_pipeline_lag_checkpoints: known(
      "checkpoints",
      "Checkpoints in the log not applied yet",
      ["pipeline"],
    ),
    holderbook_pipeline_age_seconds: known("seconds", "Age of a pipeline's last checkpoint", [
      "pipeline",
    ]),
    holderbook_pipeline_stalled: known(
      "1",
      "1 while a pipeline has a backlog and makes no progress",
      ["pipeline"],
    ),
    holderbook_paused: known(
      "1",
      "1 for each pipeline, asset and receiver that an operator paused; absent for the others",
      ["kind", "name"],
    ),
    holderbook_quarantined_coins: known(
      "coins",
      "Coins that a pipeline holds in quarantine: a fact of theirs could not be applied; as the pipeline completeness, coins of which the log lacks a change",
      ["pipeline"],
    ),
    holderbook_quarantined_seconds: known(
      "seconds",
      "Since a coin was put in quarantine, or found incomplete; the first ten of each pipeline",
      ["pipeline", "coin"],
    ),
    holderbook_pipeline_checkpoints_total: counter("checkpoints", "Checkpoints applied", [
      "pipeline",
    ]),
    holderbook_pipeline_rows_total: counter("rows", "Rows written", ["pipeline"]),
    holderbook_pipeline_batch_checkpoints: histogram(
      "checkpoints",
      COUNTS,
      "Checkpoints per batch; 1 at the tip",
      ["pipeline"],
    ),
    holderbook_pipeline_batch_facts: histogram("facts", COUNTS, "Facts per batch", ["pipeline"]),
    holderbook_pipeline_batch_seconds: histogram(
      "seconds",
      QUICK,
      "From a batch's facts to its commit",
      ["pipeline"],
    ),
    holderbook_pipeline_retries_total: counter(
      "times",
      "Retries of a pipeline after transient errors",
      ["pipeline"],
    ),
  },
  source: {
    holderbook_source_answer_age_seconds: known(
      "seconds",
      "Since the source last answered any process's reader",
      ["source"],
    ),
    holderbook_source_silent_seconds: known(
      "seconds",
      "How long the source has not answered its reader",
      ["source"],
    ),
    holderbook_source_request_seconds: histogram(
      "seconds",
      REMOTE,
      "Duration of a request to a network source",
    ),
    holderbook_source_errors_total: counter(
      "questions",
      "Failed requests to the source, by error",
      ["error"],
    ),
    holderbook_source_changes_total: counter(
      "times",
      "Switches to another listed source, returns included",
    ),
  },
  verification: {
    holderbook_verified_checkpoints_total: counter(
      "checkpoints",
      "Appended checkpoints by verification: off, links or signatures",
      ["level"],
    ),
    holderbook_verification_seconds: histogram(
      "seconds",
      QUICK,
      "Verifying a batch's signatures, with repeated fetches",
    ),
    holderbook_verification_refusals_total: counter(
      "times",
      "Answers of the source refused by verification, by error; each is retried first",
      ["error"],
    ),
    holderbook_log_proven_checkpoint: known(
      "checkpoint",
      "Last checkpoint covered by a verified signature of the validators",
    ),
  },
  reconciliation: {
    holderbook_log_changed: known("1", "1 while facts of the log do not match its hash chain"),
    holderbook_log_chain_checkpoint: known(
      "checkpoint",
      "Last checkpoint covered by the log's hash chain",
    ),
    holderbook_log_signed_checkpoint: known(
      "checkpoint",
      "Last checkpoint whose chain head was signed",
    ),
    holderbook_log_checked_checkpoint: known(
      "checkpoint",
      "Last checkpoint of the last full check of the log",
    ),
    holderbook_log_check_age_seconds: known("seconds", "Since the last full check of the log"),
    holderbook_sums_findings: known(
      "findings",
      "Sums of the register that do not match, up to 100",
    ),
    holderbook_sums_age_seconds: known("seconds", "Since the register's sums were last checked"),
    holderbook_rows_findings: known(
      "findings",
      "Rows that do not match the facts of the log, up to 100",
    ),
    holderbook_rows_age_seconds: known(
      "seconds",
      "Since all rows were last compared with the facts of the log",
    ),
    holderbook_daily_roots_age_seconds: known(
      "seconds",
      "Since daily roots of all changed tokens were last published",
    ),
    holderbook_daily_roots_faults: known(
      "tokens",
      "Tokens whose daily root was not signed due to a contradiction, up to 10",
    ),
  },
  evm: {
    holderbook_evm_head_block: known("block", "Newest known block of an EVM chain", OF_CHAIN),
    holderbook_evm_next_block: known("block", "Next block of an EVM chain to read", OF_CHAIN),
    holderbook_evm_final_block: known("block", "Newest final block of an EVM chain", OF_CHAIN),
    holderbook_evm_stalled: known(
      "1",
      "1 while an EVM chain has a backlog and is not read",
      OF_CHAIN,
    ),
    holderbook_evm_final_blocks_replaced: known(
      "times",
      "How often an EVM chain replaced final blocks",
      OF_CHAIN,
    ),
    holderbook_evm_warnings: known("warnings", "Warnings for the operator, see /health", OF_CHAIN),
    holderbook_evm_endpoint_usable: known("1", "0 while an RPC endpoint is not used", [
      "chain",
      "network",
      "endpoint",
    ]),
    holderbook_transfer_events_lag_blocks: known(
      "blocks",
      "Blocks read without their transfer events yet",
      ["project", "chain"],
    ),
    holderbook_evm_quarantined_tokens: known(
      "tokens",
      "Tokens in quarantine: a log of theirs could not be applied",
      ["project", "chain"],
    ),
    holderbook_evm_quarantined_seconds: known(
      "seconds",
      "Since a token was put in quarantine; the first ten of each project and network",
      ["project", "chain", "token"],
    ),
    holderbook_evm_rpc_request_seconds: histogram(
      "seconds",
      REMOTE,
      "Duration of an HTTP request to an RPC endpoint",
      ["chain", "endpoint"],
    ),
    holderbook_evm_rpc_calls_total: counter("calls", "Calls in those requests", [
      "chain",
      "endpoint",
    ]),
    holderbook_evm_rpc_errors_total: counter("requests", "Failed or refused requests, by reason", [
      "chain",
      "endpoint",
      "reason",
    ]),
  },
} as const;
