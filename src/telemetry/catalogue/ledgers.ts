/** Metrics of ledgers and their pipelines. */
import { COUNTS, counter, histogram, known, QUICK, REMOTE } from "./describing.ts";

const OF_CHAIN = ["chain", "network"];

/** Parts in the order of the documentation. */
export const LEDGERS = {
  ingest: {
    holderbook_reader_checkpoint: known("checkpoint", "Last checkpoint appended to the log"),
    holderbook_reader_tip_checkpoint: known(
      "checkpoint",
      "Newest checkpoint of the chain, where this process knows it",
    ),
    holderbook_reader_lag_checkpoints: known(
      "checkpoints",
      "Checkpoints of the chain not yet read",
    ),
    holderbook_reader_age_seconds: known(
      "seconds",
      "Age of the last checkpoint appended to the log",
    ),
    holderbook_reader_stalled: known("1", "1 while the reader has work and does not do it"),
    holderbook_reader_checkpoints_total: counter("checkpoints", "Checkpoints appended to the log"),
    holderbook_reader_skipped_checkpoints_total: counter(
      "checkpoints",
      "Those of them that the prefilter ruled out: they hold nothing of the contract",
    ),
    holderbook_reader_facts_total: counter("facts", "Facts appended to the log"),
    holderbook_reader_bytes_total: counter(
      "bytes",
      "Bytes of the checkpoints appended, as they came",
    ),
    holderbook_reader_batch_checkpoints: histogram(
      "checkpoints",
      "Checkpoints of one append; 1 at the chain's end",
      [],
      COUNTS,
    ),
    holderbook_reader_batch_facts: histogram("facts", "Facts of one append", [], COUNTS),
    holderbook_reader_append_seconds: histogram(
      "seconds",
      "From a batch that is read and proven to its commit",
      [],
      QUICK,
    ),
    holderbook_reader_retries_total: counter(
      "times",
      "How often reading began again after something that passes",
    ),
  },
  pipelines: {
    holderbook_pipeline_checkpoint: known("checkpoint", "Last checkpoint a pipeline committed", [
      "pipeline",
    ]),
    holderbook_pipeline_lag_checkpoints: known(
      "checkpoints",
      "Checkpoints read and not yet applied",
      ["pipeline"],
    ),
    holderbook_pipeline_age_seconds: known(
      "seconds",
      "Age of the last checkpoint a pipeline committed",
      ["pipeline"],
    ),
    holderbook_pipeline_stalled: known("1", "1 while a pipeline has work and does not do it", [
      "pipeline",
    ]),
    holderbook_pipeline_checkpoints_total: counter("checkpoints", "Checkpoints applied", [
      "pipeline",
    ]),
    holderbook_pipeline_rows_total: counter("rows", "Rows that they made", ["pipeline"]),
    holderbook_pipeline_batch_checkpoints: histogram(
      "checkpoints",
      "Checkpoints of one batch; 1 at the chain's end",
      ["pipeline"],
      COUNTS,
    ),
    holderbook_pipeline_batch_facts: histogram("facts", "Facts of one batch", ["pipeline"], COUNTS),
    holderbook_pipeline_batch_seconds: histogram(
      "seconds",
      "From a batch's facts to its commit",
      ["pipeline"],
      QUICK,
    ),
    holderbook_pipeline_retries_total: counter(
      "times",
      "How often a pipeline began again after something that passes",
      ["pipeline"],
    ),
  },
  source: {
    holderbook_source_answer_age_seconds: known(
      "seconds",
      "Seconds since the ledger's source last answered the reader, in whatever process it runs",
      ["source"],
    ),
    holderbook_source_silent_seconds: known(
      "seconds",
      "Seconds during which a question to the source has been waiting since its last answer",
      ["source"],
    ),
    holderbook_source_request_seconds: histogram(
      "seconds",
      "From a question to the source to its answer; none of a source without a network",
      [],
      REMOTE,
    ),
    holderbook_source_errors_total: counter(
      "questions",
      "Questions to the source that failed, by the name of the error",
      ["error"],
    ),
    holderbook_source_changes_total: counter(
      "times",
      "How often reading went over to another one of the sources listed, back to the first included",
    ),
  },
  verification: {
    holderbook_verified_checkpoints_total: counter(
      "checkpoints",
      "Checkpoints appended, by how they were verified: off, links or signatures",
      ["level"],
    ),
    holderbook_verification_seconds: histogram(
      "seconds",
      "Verifying the validators' signatures on a batch, repeated fetches included",
      [],
      QUICK,
    ),
    holderbook_verification_refusals_total: counter(
      "times",
      "What the source said and was not believed, by the name of the error; each is fetched again first",
      ["error"],
    ),
    holderbook_log_proven_checkpoint: known(
      "checkpoint",
      "Last checkpoint that a verified signature of the validators covers",
    ),
  },
  reconciliation: {
    holderbook_log_changed: known("1", "1 while facts of the log do not fit its hash chain"),
    holderbook_log_chain_checkpoint: known(
      "checkpoint",
      "Last checkpoint that the log's hash chain covers",
    ),
    holderbook_log_signed_checkpoint: known(
      "checkpoint",
      "Last checkpoint whose head of the chain was signed",
    ),
    holderbook_log_checked_checkpoint: known(
      "checkpoint",
      "Where the last whole check of the log ended",
    ),
    holderbook_log_check_age_seconds: known("seconds", "Since the last whole check of the log"),
    holderbook_sums_findings: known(
      "findings",
      "What does not add up in the register, 100 at most",
    ),
    holderbook_sums_age_seconds: known("seconds", "Since the register was last added up"),
    holderbook_rows_findings: known(
      "findings",
      "Rows that do not fit the facts of the log, 100 at most",
    ),
    holderbook_rows_age_seconds: known(
      "seconds",
      "Since every row was last held against the facts of the log",
    ),
    holderbook_daily_roots_age_seconds: known(
      "seconds",
      "Since the roots of a day that had ended were published, of every token that changed",
    ),
    holderbook_daily_roots_faults: known(
      "tokens",
      "Whose daily root was not signed because something contradicts it, 10 at most",
    ),
  },
  evm: {
    holderbook_evm_head_block: known("block", "Newest block known of an EVM chain", OF_CHAIN),
    holderbook_evm_next_block: known("block", "Next block of an EVM chain to read", OF_CHAIN),
    holderbook_evm_final_block: known("block", "Newest final block of an EVM chain", OF_CHAIN),
    holderbook_evm_stalled: known("1", "1 while an EVM chain should be read and is not", OF_CHAIN),
    holderbook_evm_final_blocks_replaced: known(
      "times",
      "How often an EVM chain replaced blocks that were final",
      OF_CHAIN,
    ),
    holderbook_evm_warnings: known(
      "warnings",
      "What an operator should look at, see /health",
      OF_CHAIN,
    ),
    holderbook_evm_endpoint_usable: known("1", "0 while an RPC endpoint is set aside", [
      "chain",
      "network",
      "endpoint",
    ]),
    holderbook_transfer_events_lag_blocks: known(
      "blocks",
      "Blocks read whose transfer events are not made yet",
      ["project", "chain"],
    ),
    holderbook_evm_rpc_request_seconds: histogram(
      "seconds",
      "One HTTP request to an RPC endpoint, to its answer or failure",
      ["chain", "endpoint"],
      REMOTE,
    ),
    holderbook_evm_rpc_calls_total: counter("calls", "Calls in those requests", [
      "chain",
      "endpoint",
    ]),
    holderbook_evm_rpc_errors_total: counter(
      "requests",
      "Requests that failed or were refused, by why",
      ["chain", "endpoint", "reason"],
    ),
  },
} as const;
