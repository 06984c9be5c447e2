/** What the dashboard shows, row by row: from "is everything well" to a single process. */
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
  /** What it says and, where it is not plain, what is good. */
  readonly about: string;
  /** Of Grafana: `s`, `bytes`, `short`, `percentunit`, `reqps`. */
  readonly unit: string;
  /** Of the 24 columns. */
  readonly width: number;
  readonly lines: readonly {
    readonly expression: Expression;
    /** With labels in double braces. */
    readonly legend: string;
  }[];
} & (
  | {
      /** A single number, in colour from these values on. */
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
  title: "Is everything at the chain's end",
  panels: [
    number({
      title: "Register's age",
      about: "Age of the last checkpoint that the slowest pipeline committed: a few seconds.",
      unit: "s",
      expression: largest("holderbook_pipeline_age_seconds"),
      warnFrom: 30,
      alarmFrom: 120,
    }),
    number({
      title: "Not yet read",
      about: "Checkpoints of the chain that are not in the log.",
      unit: "short",
      expression: largest("holderbook_reader_lag_checkpoints"),
      warnFrom: 100,
      alarmFrom: 10_000,
    }),
    number({
      title: "Not yet applied",
      about: "Checkpoints in the log that the slowest pipeline has not applied.",
      unit: "short",
      expression: largest("holderbook_pipeline_lag_checkpoints"),
      warnFrom: 100,
      alarmFrom: 10_000,
    }),
    number({
      title: "Stalled",
      about: "Parts that have work and do not do it: the reader, pipelines. /health says why.",
      unit: "short",
      expression: `${largest("holderbook_reader_stalled")} + sum(${largest("holderbook_pipeline_stalled", ["pipeline"])})`,
      warnFrom: 1,
      alarmFrom: 1,
    }),
    number({
      title: "Database",
      about: "Whether it answers every process that serves.",
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
      about: "What does not fit in what is stored: none. Anything else is an alarm.",
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
      { title: "Checkpoints a second", about: "Appended to the log.", unit: "short" },
      line("appended", perSecond("holderbook_reader_checkpoints_total")),
      line(
        "of them without our contract",
        perSecond("holderbook_reader_skipped_checkpoints_total"),
      ),
    ),
    curve(
      { title: "Facts a second", about: "Appended to the log.", unit: "short" },
      line("facts", perSecond("holderbook_reader_facts_total")),
    ),
    curve(
      { title: "Bytes a second", about: "Of the checkpoints, as they came.", unit: "Bps" },
      line("bytes", perSecond("holderbook_reader_bytes_total")),
    ),
    curve(
      { title: "Age", about: "Of the last checkpoint in the log.", unit: "s" },
      line("reader", largest("holderbook_reader_age_seconds")),
    ),
    curve(
      {
        title: "Checkpoints of one append",
        about: "1 at the chain's end, more behind.",
        unit: "short",
      },
      line("mean", mean("holderbook_reader_batch_checkpoints")),
      line("facts, mean", mean("holderbook_reader_batch_facts")),
    ),
    curve(
      { title: "Time of one append", about: "Until its commit is on the disk.", unit: "s" },
      line("median", quantile(0.5, "holderbook_reader_append_seconds")),
      line("99 of 100", quantile(0.99, "holderbook_reader_append_seconds")),
      line("begun again, a second", perSecond("holderbook_reader_retries_total")),
    ),
  ],
};

const pipelines: Row = {
  title: "Pipelines",
  panels: [
    curve(
      { title: "Age", about: "Of the last checkpoint that each committed.", unit: "s" },
      line("{{pipeline}}", largest("holderbook_pipeline_age_seconds", ["pipeline"])),
    ),
    curve(
      { title: "Not yet applied", about: "Checkpoints in the log.", unit: "short" },
      line("{{pipeline}}", largest("holderbook_pipeline_lag_checkpoints", ["pipeline"])),
    ),
    curve(
      { title: "Rows a second", about: "That each makes.", unit: "short" },
      line("{{pipeline}}", perSecond("holderbook_pipeline_rows_total", ["pipeline"])),
    ),
    curve(
      { title: "Time of one batch", about: "99 of 100 take no longer.", unit: "s" },
      line("{{pipeline}}", quantile(0.99, "holderbook_pipeline_batch_seconds", ["pipeline"])),
    ),
    curve(
      { title: "Checkpoints of one batch", about: "Mean: 1 at the chain's end.", unit: "short" },
      line("{{pipeline}}", mean("holderbook_pipeline_batch_checkpoints", ["pipeline"])),
    ),
    curve(
      { title: "Begun again, a second", about: "After something that passes.", unit: "short" },
      line("{{pipeline}}", perSecond("holderbook_pipeline_retries_total", ["pipeline"])),
    ),
  ],
};

const source: Row = {
  title: "Source and EVM chains",
  panels: [
    curve(
      { title: "Source: since its last answer", about: "Above 60 s it is silent.", unit: "s" },
      line("{{source}}", largest("holderbook_source_answer_age_seconds", ["source"])),
      line("{{source}} waited for", largest("holderbook_source_silent_seconds", ["source"])),
    ),
    curve(
      {
        title: "Source: time of an answer",
        about: "Of a source without a network there is none.",
        unit: "s",
      },
      line("median", quantile(0.5, "holderbook_source_request_seconds")),
      line("99 of 100", quantile(0.99, "holderbook_source_request_seconds")),
    ),
    curve(
      {
        title: "Source: questions and errors a second",
        about: "Errors by their names.",
        unit: "short",
      },
      line("answered", valuesPerSecond("holderbook_source_request_seconds")),
      line("{{error}}", perSecond("holderbook_source_errors_total", ["error"])),
    ),
    curve(
      {
        title: "EVM: blocks to read",
        about: "From the next block to the newest one.",
        unit: "short",
      },
      line(
        "{{network}}",
        `${largest("holderbook_evm_head_block", ["network"])} - ${largest("holderbook_evm_next_block", ["network"])} + 1`,
      ),
    ),
    curve(
      { title: "EVM: time of a request", about: "99 of 100 take no longer.", unit: "s" },
      line("{{endpoint}}", quantile(0.99, "holderbook_evm_rpc_request_seconds", ["endpoint"])),
    ),
    curve(
      {
        title: "EVM: errors a second",
        about: "And endpoints that are set aside (0).",
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
  title: "Verification and what is stored",
  panels: [
    curve(
      {
        title: "Verified, checkpoints a second",
        about: "By how they were verified.",
        unit: "short",
      },
      line("{{level}}", perSecond("holderbook_verified_checkpoints_total", ["level"])),
    ),
    curve(
      { title: "Time of verifying", about: "The signatures on one batch.", unit: "s" },
      line("median", quantile(0.5, "holderbook_verification_seconds")),
      line("99 of 100", quantile(0.99, "holderbook_verification_seconds")),
    ),
    curve(
      {
        title: "Refused, a second",
        about: "What the source said and was not believed.",
        unit: "short",
      },
      line("{{error}}", perSecond("holderbook_verification_refusals_total", ["error"])),
    ),
    curve(
      { title: "Findings", about: "None, ever.", unit: "short" },
      line("the log was changed", largest("holderbook_log_changed")),
      line("the register does not add up", largest("holderbook_sums_findings")),
      line("rows do not fit the log", largest("holderbook_rows_findings")),
      line("no daily root was signed", largest("holderbook_daily_roots_faults")),
    ),
    curve(
      {
        title: "Since the last look",
        about: "At the whole log, at the whole register, and at what was published for a day.",
        unit: "s",
      },
      line("log", largest("holderbook_log_check_age_seconds")),
      line("register", largest("holderbook_sums_age_seconds")),
      line("every row", largest("holderbook_rows_age_seconds")),
      line("daily roots", largest("holderbook_daily_roots_age_seconds")),
    ),
    curve(
      {
        title: "Behind the log's end",
        about: "Checkpoints that the hash chain and signatures do not cover yet.",
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
      { title: "Requests a second", about: "By path.", unit: "reqps" },
      line("{{route}}", valuesPerSecond("holderbook_http_request_duration_seconds", ["route"])),
    ),
    curve(
      { title: "Time of an answer", about: "95 of 100 take no longer.", unit: "s" },
      line("{{route}}", quantile(0.95, "holderbook_http_request_duration_seconds", ["route"])),
    ),
    curve(
      { title: "Not answered with 2xx or 3xx, a second", about: "By code.", unit: "reqps" },
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
        title: "Refused, a second",
        about: "For what they cost, or how often they came.",
        unit: "reqps",
      },
      line("{{reason}}", perSecond("holderbook_requests_refused_total", ["reason"])),
    ),
    curve(
      {
        title: "Work under way",
        about:
          "Weight of requests: about the values of their answers; 200,000 in a process at the most.",
        unit: "short",
      },
      line("weight", total("holderbook_admission_weight")),
      line("weight let in, a second", perSecond("holderbook_admission_admitted_weight_total")),
      line("requests waiting", total("holderbook_admission_waiting")),
    ),
    curve(
      { title: "Subscriptions", about: "Open, and cut because they were not read.", unit: "short" },
      line("open", total("holderbook_graphql_streams_open")),
      line("cut, a second", perSecond("holderbook_graphql_streams_cut_total")),
      line("bytes not taken", total("holderbook_graphql_streams_untaken_bytes")),
    ),
  ],
};

const deliveries: Row = {
  title: "Callbacks and transfer agent",
  panels: [
    curve(
      { title: "Callbacks waiting", about: "Neither delivered nor given up.", unit: "short" },
      line("waiting", largest("holderbook_callbacks_pending")),
      line("addresses failing", largest("holderbook_callback_endpoints_failing")),
      line("addresses disabled", largest("holderbook_callback_endpoints_disabled")),
    ),
    curve(
      { title: "Attempts a second", about: "By outcome.", unit: "short" },
      line("{{outcome}}", valuesPerSecond("holderbook_callback_attempt_seconds", ["outcome"])),
      line("not the first", perSecond("holderbook_callback_retries_total")),
      line("given up: {{reason}}", perSecond("holderbook_callbacks_given_up_total", ["reason"])),
    ),
    curve(
      { title: "Time of an attempt", about: "95 of 100 take no longer.", unit: "s" },
      line("{{outcome}}", quantile(0.95, "holderbook_callback_attempt_seconds", ["outcome"])),
    ),
    curve(
      { title: "Requests open", about: "Of the transfer agent.", unit: "short" },
      line("{{asset}} {{status}}", largest("holderbook_ta_requests_open", ["asset", "status"])),
    ),
    curve(
      {
        title: "Oldest open request",
        about: "Above what the ledger needs to be final, look.",
        unit: "s",
      },
      line("{{asset}}", largest("holderbook_ta_oldest_open_request_seconds", ["asset"])),
    ),
    curve(
      { title: "Requests ended a second", about: "By how; a minute late.", unit: "short" },
      line(
        "{{asset}} {{status}} {{reason}}",
        perSecondOfOne("holderbook_ta_requests_ended_total", ["asset", "status", "reason"]),
      ),
    ),
    curve(
      {
        title: "Lanes worked on",
        about: "16 at a time in a process, of each kind.",
        unit: "short",
        width: 12,
      },
      line("{{queue}}", total("holderbook_lanes_working", ["queue"])),
    ),
    curve(
      {
        title: "Turns that failed, a second",
        about: "By an error of our own side.",
        unit: "short",
        width: 12,
      },
      line("{{queue}}", perSecond("holderbook_lane_troubles_total", ["queue"])),
    ),
    curve(
      {
        title: "Gas of the signers",
        about: "Transactions that each account still pays for, at the most that one may cost.",
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
        about: "Of each pool, as a share of what it may have.",
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
        about: "Nothing, for longer than a moment.",
        unit: "short",
      },
      line("{{process}} {{pool}}", total("holderbook_database_waiting", ["process", "pool"])),
    ),
    curve(
      { title: "Size", about: "Of the database, without its journal.", unit: "bytes" },
      line("size", largest("holderbook_database_bytes")),
    ),
    curve(
      {
        title: "Room on the disk",
        about: "Of DATA_DIR, where the embedded database is.",
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
        about: "Of the processes that are asked, and of those that index beside them.",
        unit: "bytes",
      },
      line("serving", largest("process_resident_memory_bytes")),
      line("its heap", largest("nodejs_heap_size_used_bytes")),
      line("indexing", largest("holderbook_indexing_process_resident_memory_bytes")),
    ),
    curve(
      { title: "Processor", about: "1 is a whole core.", unit: "short" },
      line("serving", perSecond("process_cpu_seconds_total")),
      line("indexing", risePerSecond("holderbook_indexing_process_cpu_seconds")),
    ),
    curve(
      { title: "Event loop in use", about: "Near 1 everything waits.", unit: "percentunit" },
      line("{{process}}", perSecond("holderbook_event_loop_active_seconds_total", ["process"])),
    ),
    curve(
      { title: "Event loop late", about: "99 of 100 timers are no later.", unit: "s" },
      line("{{process}}", quantile(0.99, "holderbook_event_loop_lag_seconds", ["process"])),
    ),
    curve(
      { title: "Collections of garbage", about: "Time of them in a second, by kind.", unit: "s" },
      line("{{kind}}", sumPerSecond("nodejs_gc_duration_seconds", ["kind"])),
    ),
    curve(
      {
        title: "Processes",
        about:
          "Whether the one that indexes answers, and how often the one that serves was started again.",
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
