/** Metrics of serving, deliveries and processes. */
import { counter, describing, gauge, histogram, known, QUICK, REMOTE } from "./describing.ts";

/** Parts in the order of the documentation. */
export const SERVING = {
  requests: {
    holderbook_http_request_duration_seconds: histogram(
      "seconds",
      QUICK,
      "From a request's arrival to the end of its answer; requests without a route are labelled any, refused or unknown",
      ["method", "route", "status"],
    ),
    holderbook_http_requests_aborted_total: counter(
      "requests",
      "Requests whose caller hung up before the end of the answer",
      ["method", "route"],
    ),
    holderbook_admission_weight: gauge("weight", "Weight of requests being answered"),
    holderbook_admission_waiting: gauge("requests", "Requests waiting for admission"),
    holderbook_admission_admitted_weight_total: counter(
      "weight",
      "Weight of all admitted requests, about the number of values in their answers",
    ),
    holderbook_requests_refused_total: counter(
      "requests",
      "Refused requests, by reason: rate_limit (of a key), attempts (without a valid key), busy (too much at a time), unread (answers not read)",
      ["reason"],
    ),
    holderbook_graphql_streams_open: gauge("streams", "Open subscriptions"),
    holderbook_graphql_streams_untaken_bytes: gauge(
      "bytes",
      "Bytes written to subscriptions and not read by callers",
    ),
    holderbook_graphql_streams_cut_total: counter(
      "streams",
      "Subscriptions closed because callers did not read in time",
    ),
  },
  callbacks: {
    holderbook_callbacks_pending: known("callbacks", "Callbacks neither delivered nor given up"),
    holderbook_callbacks_oldest_pending_seconds: known(
      "seconds",
      "Age of the oldest pending callback",
    ),
    holderbook_callback_endpoints_failing: known(
      "addresses",
      "Callback endpoints that keep failing, up to 100",
    ),
    holderbook_callback_endpoints_disabled: known(
      "addresses",
      "Disabled callback endpoints, up to 100",
    ),
    holderbook_callback_attempt_seconds: histogram(
      "seconds",
      REMOTE,
      "Duration of a delivery attempt, by outcome: delivered or failed",
      ["outcome"],
    ),
    holderbook_callback_retries_total: counter("attempts", "Delivery attempts after the first"),
    holderbook_callbacks_given_up_total: counter(
      "callbacks",
      "Callbacks given up, by reason: attempts_exhausted or endpoint_disabled",
      ["reason"],
    ),
  },
  transferAgent: {
    holderbook_ta_requests_open: known("requests", "Open requests, by status", ["asset", "status"]),
    holderbook_ta_oldest_open_request_seconds: known(
      "seconds",
      "Age of the oldest open request; 0 without any",
      ["asset"],
    ),
    holderbook_ta_requests_ended_total: describing("counter", "deployment")(
      "requests",
      "Requests of all processes that ended since this process started, a minute late",
      ["asset", "status", "reason"],
    ),
    holderbook_signer_transactions_left: gauge(
      "transactions",
      "Transactions that a signer's gas pays for at their maximum cost; updated each minute",
      ["asset"],
    ),
    holderbook_queue_up: gauge(
      "1",
      "1 while the backend that wakes workers answers: redis or postgres",
      ["backend"],
    ),
    holderbook_lanes_working: gauge(
      "lanes",
      "Lanes in work, up to 16: callbacks or transfer-agent requests",
      ["queue"],
    ),
    holderbook_lane_troubles_total: counter(
      "turns",
      "Turns that failed on our side: database, node or signer",
      ["queue"],
    ),
  },
  database: {
    holderbook_database_up: gauge("1", "1 while the database answers in time"),
    holderbook_health_age_seconds: gauge(
      "seconds",
      "Age of the deployment's figures: above 1 while the database does not answer",
    ),
    holderbook_database_writable: gauge(
      "1",
      "1 while the database accepts writes of the indexing process; 0 also when its disk is full",
    ),
    holderbook_retention_removed_rows_total: counter("rows", "Rows that retention removed", [
      "table",
    ]),
    holderbook_database_bytes: gauge(
      "bytes",
      "Size of the database with indexes, updated each minute; its disk also holds the journal",
    ),
    holderbook_database_connections_busy: gauge(
      "connections",
      "Connections in use, by pool: write (transactions), short, light and long (callers' reads)",
      ["process", "pool"],
    ),
    holderbook_database_connections_most: gauge("connections", "Maximum connections", [
      "process",
      "pool",
    ]),
    holderbook_database_waiting: gauge("tasks", "Tasks waiting for a connection", [
      "process",
      "pool",
    ]),
    holderbook_replica_used: gauge(
      "1",
      "1 while reads go to the replica of DATABASE_READ_URL, by its place there",
      ["replica", "host"],
    ),
    holderbook_replica_lag_seconds: gauge(
      "seconds",
      "How far the replica is behind the primary; NaN while it does not answer",
      ["replica", "host"],
    ),
    holderbook_replica_reads_total: counter(
      "reads",
      "Statements and snapshots of callers, by server; none without DATABASE_READ_URL",
      ["server"],
    ),
  },
  processes: {
    holderbook_indexing_process_up: gauge("1", "1 while the indexing process answers"),
    holderbook_indexing_process_resident_memory_bytes: gauge(
      "bytes",
      "Memory of the indexing process",
    ),
    holderbook_indexing_process_cpu_seconds: gauge(
      "seconds",
      "CPU time of the indexing process since its start",
    ),
    holderbook_serving_process_restarts: gauge("times", "Restarts of the serving process"),
    holderbook_event_loop_active_seconds_total: counter(
      "seconds",
      "Time in which the event loop was busy; its rate is the utilisation, 0 to 1",
      ["process"],
    ),
    holderbook_event_loop_lag_seconds: histogram(
      "seconds",
      [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5],
      "Delay of a timer that fires twice a second",
      ["process"],
    ),
    holderbook_clock_ahead_seconds: gauge(
      "seconds",
      "Clock of the indexing process minus the database's",
    ),
    holderbook_data_disk_free_bytes: gauge(
      "bytes",
      "Free space on the disk of DATA_DIR, where the embedded database is",
    ),
    holderbook_data_disk_bytes: gauge("bytes", "Size of that disk"),
    process_cpu_user_seconds_total: counter("seconds", "CPU time in user mode"),
    process_cpu_system_seconds_total: counter("seconds", "CPU time in system mode"),
    process_cpu_seconds_total: counter("seconds", "CPU time in user and system mode"),
    process_start_time_seconds: gauge("unix seconds", "Start of the process"),
    process_resident_memory_bytes: gauge("bytes", "Memory of the process"),
    process_virtual_memory_bytes: gauge("bytes", "Address space of the process; Linux only"),
    process_heap_bytes: gauge("bytes", "Data segment of the process; Linux only"),
    process_open_fds: gauge("files", "Open files and connections; Linux only"),
    process_max_fds: gauge("files", "Maximum open files; Linux only"),
    nodejs_eventloop_lag_seconds: gauge("seconds", "Event loop lag during the scrape"),
    nodejs_eventloop_lag_min_seconds: gauge(
      "seconds",
      "Minimum event loop delay since the last scrape",
    ),
    nodejs_eventloop_lag_max_seconds: gauge(
      "seconds",
      "Maximum event loop delay since the last scrape",
    ),
    nodejs_eventloop_lag_mean_seconds: gauge(
      "seconds",
      "Mean event loop delay since the last scrape",
    ),
    nodejs_eventloop_lag_stddev_seconds: gauge("seconds", "Standard deviation of event loop delay"),
    nodejs_eventloop_lag_p50_seconds: gauge("seconds", "Median event loop delay"),
    nodejs_eventloop_lag_p90_seconds: gauge("seconds", "Event loop delay, 90th percentile"),
    nodejs_eventloop_lag_p99_seconds: gauge("seconds", "Event loop delay, 99th percentile"),
    nodejs_active_handles: gauge("handles", "Handles of libuv, by type", ["type"]),
    nodejs_active_handles_total: gauge("handles", "All libuv handles"),
    nodejs_active_requests: gauge("requests", "Requests of libuv, by type", ["type"]),
    nodejs_active_requests_total: gauge("requests", "All libuv requests"),
    nodejs_active_resources: gauge("resources", "Resources that keep the process alive, by type", [
      "type",
    ]),
    nodejs_active_resources_total: gauge("resources", "All resources that keep the process alive"),
    nodejs_heap_size_total_bytes: gauge("bytes", "Heap of the process"),
    nodejs_heap_size_used_bytes: gauge("bytes", "Used heap"),
    nodejs_external_memory_bytes: gauge("bytes", "Buffers and other memory outside the heap"),
    nodejs_heap_space_size_total_bytes: gauge("bytes", "Size of a heap space", ["space"]),
    nodejs_heap_space_size_used_bytes: gauge("bytes", "Used part of a heap space", ["space"]),
    nodejs_heap_space_size_available_bytes: gauge("bytes", "Free part of a heap space", ["space"]),
    nodejs_version_info: gauge("1", "Version of Node, in the labels", [
      "version",
      "major",
      "minor",
      "patch",
    ]),
    nodejs_gc_duration_seconds: histogram(
      "seconds",
      [0.001, 0.01, 0.1, 1, 2, 5],
      "Garbage collections, by kind: major, minor, incremental or weakcb",
      ["kind"],
    ),
  },
} as const;
