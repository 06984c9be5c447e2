/** Metrics of serving, deliveries and processes. */
import { counter, describing, gauge, histogram, known, QUICK, REMOTE } from "./describing.ts";

/** Parts in the order of the documentation. */
export const SERVING = {
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
    holderbook_signer_transactions_left: gauge(
      "transactions",
      "Transactions that the gas of an asset's signer pays for, at the most that one may cost; looked at once a minute",
      ["asset"],
    ),
    holderbook_queue_up: gauge(
      "1",
      "1 while what wakes the workers of callbacks and requests answers: redis, or postgres",
      ["backend"],
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
    holderbook_database_up: gauge("1", "1 while the database answers in time"),
    holderbook_health_age_seconds: gauge(
      "seconds",
      "Age of what the figures of the deployment show: above 1 while the database does not answer",
    ),
    holderbook_database_writable: gauge(
      "1",
      "1 while the database takes writes of the process that indexes: 0 also when its disk is full",
    ),
    holderbook_database_bytes: gauge(
      "bytes",
      "Size of the database, indexes included, as Postgres tells it once a minute; its disk holds its journal, too",
    ),
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
    holderbook_clock_ahead_seconds: gauge(
      "seconds",
      "How far the clock of the process that indexes is ahead of the database's; below 0 behind it",
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
