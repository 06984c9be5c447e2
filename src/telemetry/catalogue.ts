/**
 * Every figure that `/metrics` can show: one list, from which the figures are made, `docs/reference/metrics.md` is
 * printed and the dashboard is drawn. A figure that is not here cannot be counted, shown or alarmed on.
 *
 * Labels are few and bounded: names of pipelines, assets, projects, chains and endpoints come from the code
 * and the settings, everything else is one of the words that are named here. None holds an address, a key
 * or anything of a caller.
 */

export type MetricType = "counter" | "gauge" | "histogram";

/**
 * Whose figure it is. `deployment`: read from the database, the same in every process that serves, so take
 * the largest of several. `process`: of the process that is asked (and of the one that indexes beside it,
 * under `start`), so add several up.
 */
export type Scope = "deployment" | "process";

export type Metric = {
  readonly type: MetricType;
  /** What is counted: `seconds`, `bytes`, `checkpoints`, …; `1` for yes and 0 for no, or a share. */
  readonly unit: string;
  readonly labels: readonly string[];
  readonly scope: Scope;
  /** One line, for people and for `# HELP`. */
  readonly about: string;
  /** Upper bounds of a histogram's buckets, ascending; empty for other types. */
  readonly buckets: readonly number[];
};

/** A metric with the exact type of its labels. */
type Described<Type extends MetricType, Label extends string> = Metric & {
  readonly type: Type;
  readonly labels: readonly Label[];
};

const describing =
  <Type extends MetricType>(type: Type, scope: Scope) =>
  <const Label extends string = never>(
    unit: string,
    about: string,
    labels: readonly Label[] = [],
    buckets: readonly number[] = [],
  ): Described<Type, Label> => ({ type, scope, unit, about, labels, buckets });

/** Read from the database: the same in every process that serves. */
const known = describing("gauge", "deployment");
/** Of a process. */
const gauge = describing("gauge", "process");
const counter = describing("counter", "process");
const histogram = describing("histogram", "process");

/** Seconds: from an indexed read to the longest statement. */
export const QUICK = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** Seconds: of what goes over a network, with its deadlines. */
const REMOTE = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60];

/** How many at once: from one at the chain's end to a full batch. */
const COUNTS = [1, 3, 10, 30, 100, 300, 1_000, 3_000, 10_000, 30_000];

/** In the order of the documentation, by part. */
export const CATALOGUE = {
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
  },
  verification: {
    holderbook_verified_checkpoints_total: counter(
      "checkpoints",
      "Checkpoints appended, by how they were verified: off, links or signatures",
      ["level"],
    ),
    holderbook_verification_seconds: histogram(
      "seconds",
      "Verifying the validators' signatures on a batch, fetching anew included",
      [],
      QUICK,
    ),
    holderbook_verification_refusals_total: counter(
      "times",
      "What the source said and was not believed, by the name of the error; each is fetched anew first",
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
  },
  evm: {
    holderbook_evm_head_block: known("block", "Newest block known of an EVM chain", [
      "chain",
      "network",
    ]),
    holderbook_evm_next_block: known("block", "Next block of an EVM chain to read", [
      "chain",
      "network",
    ]),
    holderbook_evm_final_block: known("block", "Newest final block of an EVM chain", [
      "chain",
      "network",
    ]),
    holderbook_evm_stalled: known("1", "1 while an EVM chain should be read and is not", [
      "chain",
      "network",
    ]),
    holderbook_evm_final_blocks_replaced: known(
      "times",
      "How often an EVM chain replaced blocks that were final",
      ["chain", "network"],
    ),
    holderbook_evm_warnings: known("warnings", "What an operator should look at, see /health", [
      "chain",
      "network",
    ]),
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
  requests: {
    holderbook_http_request_duration_seconds: histogram(
      "seconds",
      "Time from a request's arrival to the end of its answer; what no route is for is counted under any, refused or unknown",
      ["method", "route", "status"],
      QUICK,
    ),
    holderbook_http_requests_aborted_total: counter(
      "requests",
      "Requests whose caller hung up before the end of the answer",
      ["method", "route"],
    ),
    holderbook_admission_weight: gauge(
      "weight",
      "Weight of the requests whose answers are being made",
    ),
    holderbook_admission_waiting: gauge("requests", "Requests that wait to be let in"),
    holderbook_admission_admitted_weight_total: counter(
      "weight",
      "Weight of all requests that were let in, about the number of values of their answers",
    ),
    holderbook_requests_refused_total: counter(
      "requests",
      "Requests refused for what they cost or how often they came, by reason: rate_limit (of a key), attempts (without a good key), busy (too much at once), unread (answers that nobody takes)",
      ["reason"],
    ),
    holderbook_graphql_streams_open: gauge("streams", "Subscriptions that are open"),
    holderbook_graphql_streams_untaken_bytes: gauge(
      "bytes",
      "Bytes of subscriptions that were written and not yet taken by their callers",
    ),
    holderbook_graphql_streams_cut_total: counter(
      "streams",
      "Subscriptions that were cut because their callers did not read them in time",
    ),
  },
  callbacks: {
    holderbook_callbacks_pending: known("callbacks", "Callbacks neither delivered nor given up"),
    holderbook_callbacks_oldest_pending_seconds: known("seconds", "Age of the oldest of them"),
    holderbook_callback_endpoints_failing: known(
      "addresses",
      "Callback addresses that keep failing, 100 at most",
    ),
    holderbook_callback_endpoints_disabled: known(
      "addresses",
      "Callback addresses that are disabled, 100 at most",
    ),
    holderbook_callback_attempt_seconds: histogram(
      "seconds",
      "One attempt to deliver a callback, by outcome: delivered, or failed",
      ["outcome"],
      REMOTE,
    ),
    holderbook_callback_retries_total: counter(
      "attempts",
      "Those of the attempts that were not a callback's first",
    ),
    holderbook_callbacks_given_up_total: counter(
      "callbacks",
      "Callbacks that were given up, by reason: attempts_exhausted or endpoint_disabled",
      ["reason"],
    ),
  },
  transferAgent: {
    holderbook_ta_requests_open: known("requests", "Requests that have not ended, by status", [
      "asset",
      "status",
    ]),
    holderbook_ta_oldest_open_request_seconds: known(
      "seconds",
      "Age of the oldest of them; 0 without any",
      ["asset"],
    ),
    holderbook_ta_requests_ended_total: describing("counter", "deployment")(
      "requests",
      "Requests that ended since this process started, a minute later; of all processes",
      ["asset", "status", "reason"],
    ),
    holderbook_lanes_working: gauge(
      "lanes",
      "Lanes that a process works on now, 16 at most: of callbacks, or of the transfer agent's requests",
      ["queue"],
    ),
    holderbook_lane_troubles_total: counter(
      "turns",
      "Turns on a lane that ended with an error of our own side: the database, a node, a signer",
      ["queue"],
    ),
  },
  database: {
    holderbook_database_up: gauge("1", "1 while the database answers"),
    holderbook_database_connections_busy: gauge(
      "connections",
      "Connections that are in use, by pool: write (transactions), short, light and long (callers' reads)",
      ["process", "pool"],
    ),
    holderbook_database_connections_most: gauge("connections", "How many of them there may be", [
      "process",
      "pool",
    ]),
    holderbook_database_waiting: gauge("tasks", "What waits for one of them", ["process", "pool"]),
  },
  processes: {
    holderbook_indexing_process_up: gauge("1", "1 while the process that indexes answers"),
    holderbook_indexing_process_resident_memory_bytes: gauge(
      "bytes",
      "Memory of the process that indexes",
    ),
    holderbook_indexing_process_cpu_seconds: gauge(
      "seconds",
      "Processor time of the process that indexes, since it started",
    ),
    holderbook_serving_process_restarts: gauge(
      "times",
      "How often the process that serves had to be started again",
    ),
    holderbook_event_loop_active_seconds_total: counter(
      "seconds",
      "Time in which the event loop was busy; its rate is the loop's utilisation, from 0 to 1",
      ["process"],
    ),
    holderbook_event_loop_lag_seconds: histogram(
      "seconds",
      "How late a timer fires that is due twice a second",
      ["process"],
      [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
    ),
    holderbook_data_disk_free_bytes: gauge(
      "bytes",
      "Room left on the disk of DATA_DIR, where the embedded database is",
    ),
    holderbook_data_disk_bytes: gauge("bytes", "Size of that disk"),
    process_cpu_user_seconds_total: counter("seconds", "Processor time in the program itself"),
    process_cpu_system_seconds_total: counter("seconds", "Processor time in the system for it"),
    process_cpu_seconds_total: counter("seconds", "Both together"),
    process_start_time_seconds: gauge("unix seconds", "When the process started"),
    process_resident_memory_bytes: gauge("bytes", "Memory of the process"),
    process_virtual_memory_bytes: gauge("bytes", "Address space of the process; Linux only"),
    process_heap_bytes: gauge("bytes", "Data segment of the process; Linux only"),
    process_open_fds: gauge("files", "Open files and connections; Linux only"),
    process_max_fds: gauge("files", "How many there may be; Linux only"),
    nodejs_eventloop_lag_seconds: gauge("seconds", "Lag of the event loop while it was asked"),
    nodejs_eventloop_lag_min_seconds: gauge(
      "seconds",
      "Shortest delay of the loop since it was asked last",
    ),
    nodejs_eventloop_lag_max_seconds: gauge("seconds", "Longest one"),
    nodejs_eventloop_lag_mean_seconds: gauge("seconds", "Mean of them"),
    nodejs_eventloop_lag_stddev_seconds: gauge("seconds", "Their standard deviation"),
    nodejs_eventloop_lag_p50_seconds: gauge("seconds", "Their median"),
    nodejs_eventloop_lag_p90_seconds: gauge("seconds", "Their 90th percentile"),
    nodejs_eventloop_lag_p99_seconds: gauge("seconds", "Their 99th percentile"),
    nodejs_active_handles: gauge("handles", "Handles of libuv, by type", ["type"]),
    nodejs_active_handles_total: gauge("handles", "All of them"),
    nodejs_active_requests: gauge("requests", "Requests of libuv, by type", ["type"]),
    nodejs_active_requests_total: gauge("requests", "All of them"),
    nodejs_active_resources: gauge("resources", "What keeps the process alive, by type", ["type"]),
    nodejs_active_resources_total: gauge("resources", "All of it"),
    nodejs_heap_size_total_bytes: gauge("bytes", "Heap of the process"),
    nodejs_heap_size_used_bytes: gauge("bytes", "What of it is in use"),
    nodejs_external_memory_bytes: gauge("bytes", "Buffers and other memory beside the heap"),
    nodejs_heap_space_size_total_bytes: gauge("bytes", "Parts of the heap", ["space"]),
    nodejs_heap_space_size_used_bytes: gauge("bytes", "What of them is in use", ["space"]),
    nodejs_heap_space_size_available_bytes: gauge("bytes", "What of them is free", ["space"]),
    nodejs_version_info: gauge("1", "The version of Node, in the labels", [
      "version",
      "major",
      "minor",
      "patch",
    ]),
    nodejs_gc_duration_seconds: histogram(
      "seconds",
      "Collections of garbage, by kind: major, minor, incremental or weakcb",
      ["kind"],
      [0.001, 0.01, 0.1, 1, 2, 5],
    ),
  },
} as const;

type Catalogue = typeof CATALOGUE;
export type Part = keyof Catalogue;

/** All metrics by name. */
type Metrics = {
  [Name in NamesOf<Catalogue[Part]>]: Extract<Catalogue[Part], Record<Name, Metric>>[Name];
};
type NamesOf<Each> = Each extends unknown ? keyof Each : never;

export type MetricName = keyof Metrics & string;

/** Names of one type. */
type OfType<Type extends MetricType> = {
  [Name in MetricName]: Metrics[Name] extends { type: Type } ? Name : never;
}[MetricName];
export type CounterName = OfType<"counter">;
export type GaugeName = OfType<"gauge">;
export type HistogramName = OfType<"histogram">;

/** The labels of a metric, each with its value. */
export type LabelsOf<Name extends MetricName> = Readonly<
  Record<Metrics[Name]["labels"][number], string>
>;

const metrics: ReadonlyMap<string, Metric> = new Map(
  Object.values(CATALOGUE).flatMap((part): [string, Metric][] => Object.entries(part)),
);

/** Every name, in the order of the catalogue. */
export const METRIC_NAMES: readonly string[] = [...metrics.keys()];

/** What the catalogue says of a name; undefined for one that it does not have. */
export const findMetric = (name: string): Metric | undefined => metrics.get(name);

/** What the catalogue says of a name. */
export const metric = (name: MetricName): Metric => {
  const found = metrics.get(name);
  if (found === undefined) throw new Error(`${name} is not in the catalogue of metrics`);
  return found;
};
