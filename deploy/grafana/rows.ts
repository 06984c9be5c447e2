/** The rows of the dashboard, from the overview to a single process. */
import {
  type Expression,
  largest,
  mean,
  perSecond,
  perSecondOfOne,
  quantile,
  risePerSecond,
  smallest,
  sumPerSecond,
  total,
  valuesPerSecond,
} from "./expressions.ts";

export type Panel = {
  readonly title: string;
  /** The panel's meaning and, if it is not obvious, its good values. */
  readonly about: string;
  /** A unit of Grafana: `s`, `bytes`, `short`, `percentunit`, `reqps`. */
  readonly unit: string;
  /** Columns, of 24. */
  readonly width: number;
  readonly lines: readonly {
    readonly expression: Expression;
    /** With labels in double braces. */
    readonly legend: string;
  }[];
} & (
  | {
      /** A single number, coloured from these values on. */
      readonly kind: "number";
      readonly warnFrom: number;
      readonly alarmFrom: number;
      /** Words for 1 and 0 instead of the numbers. */
      readonly words?: readonly [one: string, zero: string];
    }
  | { readonly kind: "curve" }
);

export type Row = { readonly title: string; readonly panels: readonly Panel[] };

const line = (legend: string, expression: Expression) => ({ legend, expression });

type Curve = Omit<Panel, "kind" | "width" | "lines"> & { readonly width?: number };

const curve = ({ width = 8, ...about }: Curve, ...lines: Panel["lines"]): Panel => ({
  kind: "curve",
  width,
  ...about,
  lines,
});

type Numbered = Omit<Extract<Panel, { kind: "number" }>, "kind" | "width" | "lines"> & {
  readonly expression: Expression;
};

const number = ({ expression, ...about }: Numbered): Panel => ({
  kind: "number",
  width: 3,
  ...about,
  lines: [line("", expression)],
});

const overview: Row = {
  title: "Overview",
  panels: [
    number({
      title: "Age of the register",
      about: "Age of the last checkpoint that the slowest pipeline committed. Good: a few seconds.",
      unit: "s",
      expression: largest("holderbook_pipeline_age_seconds"),
      warnFrom: 30,
      alarmFrom: 120,
    }),
    number({
      title: "Backlog of the reader",
      about: "Checkpoints of the chain that are not in the log yet.",
      unit: "short",
      expression: largest("holderbook_reader_lag_checkpoints"),
      warnFrom: 100,
      alarmFrom: 10_000,
    }),
    number({
      title: "Backlog of pipelines",
      about: "Checkpoints in the log that the slowest pipeline has not applied yet.",
      unit: "short",
      expression: largest("holderbook_pipeline_lag_checkpoints"),
      warnFrom: 100,
      alarmFrom: 10_000,
    }),
    number({
      title: "Stalled",
      about: "Readers and pipelines with a backlog and no progress. /health has the reason.",
      unit: "short",
      expression: `${largest("holderbook_reader_stalled")} + sum(${largest("holderbook_pipeline_stalled", ["pipeline"])})`,
      warnFrom: 1,
      alarmFrom: 1,
    }),
    number({
      title: "Database",
      about: "Whether it answers every serving process.",
      unit: "short",
      expression: `1 - ${smallest("holderbook_database_up")}`,
      words: ["down", "up"],
      warnFrom: 1,
      alarmFrom: 1,
    }),
    number({
      title: "Queue",
      about:
        "Whether Redis, or the queue in Postgres, wakes the workers of callbacks and requests.",
      unit: "short",
      expression: `1 - ${smallest("holderbook_queue_up")}`,
      words: ["down", "up"],
      warnFrom: 1,
      alarmFrom: 1,
    }),
    number({
      title: "Findings",
      about: "Contradictions in the stored data. Good: none; any other value raises an alert.",
      unit: "short",
      expression: `${largest("holderbook_log_changed")} + ${largest("holderbook_sums_findings")}`,
      warnFrom: 1,
      alarmFrom: 1,
    }),
    number({
      title: "Oldest callback",
      about: "How long the oldest callback that is neither delivered nor given up has waited.",
      unit: "s",
      expression: largest("holderbook_callbacks_oldest_pending_seconds"),
      warnFrom: 300,
      alarmFrom: 3_600,
    }),
    number({
      title: "Oldest request",
      about: "How long the transfer agent's oldest open request has waited.",
      unit: "s",
      expression: largest("holderbook_ta_oldest_open_request_seconds"),
      warnFrom: 120,
      alarmFrom: 900,
    }),
  ],
};

const ingest: Row = {
  title: "Reading the ledger",
  panels: [
    curve(
      { title: "Checkpoints per second", about: "Appended to the log.", unit: "short" },
      line("appended", perSecond("holderbook_reader_checkpoints_total")),
      line(
        "of these, without our contract",
        perSecond("holderbook_reader_skipped_checkpoints_total"),
      ),
    ),
    curve(
      { title: "Facts per second", about: "Appended to the log.", unit: "short" },
      line("facts", perSecond("holderbook_reader_facts_total")),
    ),
    curve(
      { title: "Bytes per second", about: "Checkpoints as received.", unit: "Bps" },
      line("bytes", perSecond("holderbook_reader_bytes_total")),
    ),
    curve(
      { title: "Age", about: "Age of the last checkpoint in the log.", unit: "s" },
      line("reader", largest("holderbook_reader_age_seconds")),
    ),
    curve(
      {
        title: "Checkpoints per append",
        about: "1 when up to date, more with a backlog.",
        unit: "short",
      },
      line("mean", mean("holderbook_reader_batch_checkpoints")),
      line("facts, mean", mean("holderbook_reader_batch_facts")),
    ),
    curve(
      { title: "Duration of an append", about: "Until its commit is on the disk.", unit: "s" },
      line("median", quantile(0.5, "holderbook_reader_append_seconds")),
      line("99th percentile", quantile(0.99, "holderbook_reader_append_seconds")),
      line("retries per second", perSecond("holderbook_reader_retries_total")),
    ),
  ],
};

const pipelines: Row = {
  title: "Pipelines",
  panels: [
    curve(
      {
        title: "Age",
        about: "Age of the last checkpoint that each pipeline committed.",
        unit: "s",
      },
      line("{{pipeline}}", largest("holderbook_pipeline_age_seconds", ["pipeline"])),
    ),
    curve(
      { title: "Backlog", about: "Checkpoints in the log, not applied yet.", unit: "short" },
      line("{{pipeline}}", largest("holderbook_pipeline_lag_checkpoints", ["pipeline"])),
    ),
    curve(
      { title: "Rows per second", about: "Written by each pipeline.", unit: "short" },
      line("{{pipeline}}", perSecond("holderbook_pipeline_rows_total", ["pipeline"])),
    ),
    curve(
      { title: "Duration of a batch", about: "99th percentile.", unit: "s" },
      line("{{pipeline}}", quantile(0.99, "holderbook_pipeline_batch_seconds", ["pipeline"])),
    ),
    curve(
      { title: "Checkpoints per batch", about: "Mean: 1 when up to date.", unit: "short" },
      line("{{pipeline}}", mean("holderbook_pipeline_batch_checkpoints", ["pipeline"])),
    ),
    curve(
      { title: "Retries per second", about: "After transient errors.", unit: "short" },
      line("{{pipeline}}", perSecond("holderbook_pipeline_retries_total", ["pipeline"])),
    ),
  ],
};

const source: Row = {
  title: "Source and EVM chains",
  panels: [
    curve(
      {
        title: "Source: age of its last answer",
        about: "Above 60 s it counts as silent.",
        unit: "s",
      },
      line("{{source}}", largest("holderbook_source_answer_age_seconds", ["source"])),
      line("{{source}}, current request", largest("holderbook_source_silent_seconds", ["source"])),
    ),
    curve(
      {
        title: "Source: response time",
        about: "Empty for a source without a network.",
        unit: "s",
      },
      line("median", quantile(0.5, "holderbook_source_request_seconds")),
      line("99th percentile", quantile(0.99, "holderbook_source_request_seconds")),
    ),
    curve(
      {
        title: "Source: requests and errors per second",
        about: "Errors by name.",
        unit: "short",
      },
      line("answered", valuesPerSecond("holderbook_source_request_seconds")),
      line("{{error}}", perSecond("holderbook_source_errors_total", ["error"])),
    ),
    curve(
      {
        title: "EVM: backlog",
        about: "Blocks from the next one to the newest.",
        unit: "short",
      },
      line(
        "{{network}}",
        `${largest("holderbook_evm_head_block", ["network"])} - ${largest("holderbook_evm_next_block", ["network"])} + 1`,
      ),
    ),
    curve(
      { title: "EVM: response time", about: "99th percentile.", unit: "s" },
      line("{{endpoint}}", quantile(0.99, "holderbook_evm_rpc_request_seconds", ["endpoint"])),
    ),
    curve(
      {
        title: "EVM: errors per second",
        about: "Usable is 0 for an endpoint that is set aside.",
        unit: "short",
      },
      line(
        "{{endpoint}} {{reason}}",
        perSecond("holderbook_evm_rpc_errors_total", ["endpoint", "reason"]),
      ),
      line("{{endpoint}} usable", smallest("holderbook_evm_endpoint_usable", ["endpoint"])),
    ),
  ],
};

const truth: Row = {
  title: "Verification and stored data",
  panels: [
    curve(
      {
        title: "Verified checkpoints per second",
        about: "By level of verification.",
        unit: "short",
      },
      line("{{level}}", perSecond("holderbook_verified_checkpoints_total", ["level"])),
    ),
    curve(
      { title: "Duration of a verification", about: "The signatures of one batch.", unit: "s" },
      line("median", quantile(0.5, "holderbook_verification_seconds")),
      line("99th percentile", quantile(0.99, "holderbook_verification_seconds")),
    ),
    curve(
      {
        title: "Verification failures per second",
        about: "Data of the source that were refused.",
        unit: "short",
      },
      line("{{error}}", perSecond("holderbook_verification_refusals_total", ["error"])),
    ),
    curve(
      { title: "Findings", about: "Good: none.", unit: "short" },
      line("the log was changed", largest("holderbook_log_changed")),
      line("the register does not add up", largest("holderbook_sums_findings")),
      line("rows do not fit the log", largest("holderbook_rows_findings")),
      line("no daily root was signed", largest("holderbook_daily_roots_faults")),
      line(
        "coins in quarantine, or incomplete",
        `sum(${largest("holderbook_quarantined_coins", ["pipeline"])})`,
      ),
      line(
        "EVM tokens in quarantine",
        `sum(${largest("holderbook_evm_quarantined_tokens", ["project", "chain"])})`,
      ),
    ),
    curve(
      {
        title: "Age of the last check",
        about: "Of the whole log, the whole register, every row, and the roots published daily.",
        unit: "s",
      },
      line("log", largest("holderbook_log_check_age_seconds")),
      line("register", largest("holderbook_sums_age_seconds")),
      line("every row", largest("holderbook_rows_age_seconds")),
      line("daily roots", largest("holderbook_daily_roots_age_seconds")),
    ),
    curve(
      {
        title: "Checkpoints not covered",
        about: "Newest checkpoints without hash chain or signatures so far.",
        unit: "short",
      },
      line(
        "hash chain",
        `${largest("holderbook_reader_checkpoint")} - ${largest("holderbook_log_chain_checkpoint")}`,
      ),
      line(
        "signed head",
        `${largest("holderbook_reader_checkpoint")} - ${largest("holderbook_log_signed_checkpoint")}`,
      ),
      line(
        "validators' signatures",
        `${largest("holderbook_reader_checkpoint")} - ${largest("holderbook_log_proven_checkpoint")}`,
      ),
    ),
  ],
};

const requests: Row = {
  title: "Requests",
  panels: [
    curve(
      { title: "Requests per second", about: "By path.", unit: "reqps" },
      line("{{route}}", valuesPerSecond("holderbook_http_request_duration_seconds", ["route"])),
    ),
    curve(
      { title: "Response time", about: "95th percentile.", unit: "s" },
      line("{{route}}", quantile(0.95, "holderbook_http_request_duration_seconds", ["route"])),
    ),
    curve(
      { title: "Errors per second", about: "Answers with 4xx or 5xx, by code.", unit: "reqps" },
      line(
        "{{status}} {{route}}",
        valuesPerSecond("holderbook_http_request_duration_seconds", ["status", "route"], {
          status: "[45]..",
        }),
      ),
      line("hung up {{route}}", perSecond("holderbook_http_requests_aborted_total", ["route"])),
    ),
    curve(
      {
        title: "Refused per second",
        about: "Because of their cost or their rate.",
        unit: "reqps",
      },
      line("{{reason}}", perSecond("holderbook_requests_refused_total", ["reason"])),
    ),
    curve(
      {
        title: "Work in flight",
        about:
          "Weight of requests, roughly the number of values in their answers; at most 200,000 in a process.",
        unit: "short",
      },
      line("weight", total("holderbook_admission_weight")),
      line("weight admitted per second", perSecond("holderbook_admission_admitted_weight_total")),
      line("requests waiting", total("holderbook_admission_waiting")),
    ),
    curve(
      { title: "Subscriptions", about: "Open, and cut because of a slow consumer.", unit: "short" },
      line("open", total("holderbook_graphql_streams_open")),
      line("cut per second", perSecond("holderbook_graphql_streams_cut_total")),
      line("unread bytes", total("holderbook_graphql_streams_untaken_bytes")),
    ),
  ],
};

const deliveries: Row = {
  title: "Callbacks and transfer agent",
  panels: [
    curve(
      { title: "Pending callbacks", about: "Neither delivered nor given up.", unit: "short" },
      line("pending", largest("holderbook_callbacks_pending")),
      line("addresses failing", largest("holderbook_callback_endpoints_failing")),
      line("addresses disabled", largest("holderbook_callback_endpoints_disabled")),
    ),
    curve(
      { title: "Attempts per second", about: "By outcome.", unit: "short" },
      line("{{outcome}}", valuesPerSecond("holderbook_callback_attempt_seconds", ["outcome"])),
      line("retries", perSecond("holderbook_callback_retries_total")),
      line("given up: {{reason}}", perSecond("holderbook_callbacks_given_up_total", ["reason"])),
    ),
    curve(
      { title: "Duration of an attempt", about: "95th percentile.", unit: "s" },
      line("{{outcome}}", quantile(0.95, "holderbook_callback_attempt_seconds", ["outcome"])),
    ),
    curve(
      { title: "Open requests", about: "Of the transfer agent.", unit: "short" },
      line("{{asset}} {{status}}", largest("holderbook_ta_requests_open", ["asset", "status"])),
    ),
    curve(
      {
        title: "Oldest open request",
        about: "Investigate when it exceeds the ledger's time to finality.",
        unit: "s",
      },
      line("{{asset}}", largest("holderbook_ta_oldest_open_request_seconds", ["asset"])),
    ),
    curve(
      { title: "Requests ended per second", about: "By outcome; a minute late.", unit: "short" },
      line(
        "{{asset}} {{status}} {{reason}}",
        perSecondOfOne("holderbook_ta_requests_ended_total", ["asset", "status", "reason"]),
      ),
    ),
    curve(
      {
        title: "Lanes in progress",
        about: "At most 16 of each kind in a process.",
        unit: "short",
        width: 12,
      },
      line("{{queue}}", total("holderbook_lanes_working", ["queue"])),
    ),
    curve(
      {
        title: "Failed turns per second",
        about: "Because of internal errors.",
        unit: "short",
        width: 12,
      },
      line("{{queue}}", perSecond("holderbook_lane_troubles_total", ["queue"])),
    ),
    curve(
      {
        title: "Gas of the signers",
        about: "Transactions that each account can still pay for, at their highest possible cost.",
        unit: "short",
      },
      line("{{asset}}", smallest("holderbook_signer_transactions_left", ["asset"])),
    ),
  ],
};

const database: Row = {
  title: "Database",
  panels: [
    curve(
      {
        title: "Connections in use",
        about: "As a share of each pool's limit.",
        unit: "percentunit",
      },
      line(
        "{{process}} {{pool}}",
        `${total("holderbook_database_connections_busy", ["process", "pool"])} / ${total("holderbook_database_connections_most", ["process", "pool"])}`,
      ),
    ),
    curve(
      {
        title: "Waiting for a connection",
        about: "Good: none, except for moments.",
        unit: "short",
      },
      line("{{process}} {{pool}}", total("holderbook_database_waiting", ["process", "pool"])),
    ),
    curve(
      { title: "Size", about: "Of the database, without its write-ahead log.", unit: "bytes" },
      line("size", largest("holderbook_database_bytes")),
    ),
    curve(
      {
        title: "Free disk space",
        about: "On the disk of DATA_DIR, which has the embedded database.",
        unit: "percentunit",
      },
      line(
        "free",
        `${smallest("holderbook_data_disk_free_bytes")} / ${largest("holderbook_data_disk_bytes")}`,
      ),
    ),
  ],
};

const processes: Row = {
  title: "Processes",
  panels: [
    curve(
      {
        title: "Memory",
        about: "Of the scraped processes, and of the indexing processes beside them.",
        unit: "bytes",
      },
      line("serving", largest("process_resident_memory_bytes")),
      line("its heap", largest("nodejs_heap_size_used_bytes")),
      line("indexing", largest("holderbook_indexing_process_resident_memory_bytes")),
    ),
    curve(
      { title: "CPU", about: "1 is a whole core.", unit: "short" },
      line("serving", perSecond("process_cpu_seconds_total")),
      line("indexing", risePerSecond("holderbook_indexing_process_cpu_seconds")),
    ),
    curve(
      { title: "Event loop in use", about: "Near 1, all work is delayed.", unit: "percentunit" },
      line("{{process}}", perSecond("holderbook_event_loop_active_seconds_total", ["process"])),
    ),
    curve(
      { title: "Event loop lag", about: "99th percentile of timers.", unit: "s" },
      line("{{process}}", quantile(0.99, "holderbook_event_loop_lag_seconds", ["process"])),
    ),
    curve(
      { title: "Garbage collection", about: "Time per second, by kind.", unit: "s" },
      line("{{kind}}", sumPerSecond("nodejs_gc_duration_seconds", ["kind"])),
    ),
    curve(
      {
        title: "Processes",
        about:
          "Whether the indexing process answers, and how often the serving process was restarted.",
        unit: "short",
      },
      line("indexing answers", smallest("holderbook_indexing_process_up")),
      line("serving restarts", largest("holderbook_serving_process_restarts")),
    ),
  ],
};

/** In the order of the dashboard. */
export const ROWS: readonly Row[] = [
  overview,
  ingest,
  pipelines,
  source,
  truth,
  requests,
  deliveries,
  database,
  processes,
];
