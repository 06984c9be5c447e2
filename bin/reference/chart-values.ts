/** `deploy/helm/values.schema.json`: Helm holds a register's values to it, so that a mistyped setting fails there. */
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { SETTINGS } from "../../src/settings/config.ts";

/** The chart sets these, because ports, probes and volumes of its pods depend on them. */
const OF_THE_CHART: ReadonlySet<string> = new Set(["PORT", "HOST", "METRICS_PORT", "DATA_DIR"]);

/** Secrets that every register has. */
const OF_EVERY_REGISTER: ReadonlySet<string> = new Set([
  "DATABASE_URL",
  "DATABASE_OWNER_URL",
  "CALLBACK_MASTER_KEY",
  "PII_KEYS",
]);

const object = (
  properties: Readonly<Record<string, object>>,
  required: readonly string[] = [],
) => ({
  type: "object",
  additionalProperties: false,
  properties,
  ...(required.length > 0 && { required }),
});

const list = (items: object) => ({ type: "array", items });

const TEXT = { type: "string" };
const NAME = { type: "string", minLength: 1 };
const COUNT = { type: "integer", minimum: 0, maximum: 1_000 };
const CHECKPOINT = { type: "integer", minimum: 0 };

/** Kubernetes knows their members. */
const ANY = { type: "object" };

const resources = (roles: readonly string[]) =>
  object(
    Object.fromEntries(
      roles.map((role) => [role, object({ requests: ANY, limits: ANY }, ["requests", "limits"])]),
    ),
  );

/** The text of the file. */
export const chartValuesSchema = (): string => {
  const names = SETTINGS.filter(({ name, shown }) => shown !== "secret" && !OF_THE_CHART.has(name));
  const secrets = SETTINGS.filter(
    ({ name, shown }) => shown === "secret" && !OF_EVERY_REGISTER.has(name),
  );
  const properties = {
    image: object({ repository: NAME, tag: TEXT, pullPolicy: TEXT }),
    imagePullSecrets: list(NAME),
    settings: object(
      {
        ...Object.fromEntries(names.map(({ name }) => [name, TEXT])),
        // Pods share no folder: not the demo ledger, nor an archive's.
        LEDGER_SOURCE: { type: "string", pattern: "^(grpc\\+)?https?://" },
      },
      ["LEDGER_SOURCE"],
    ),
    secret: object({
      name: NAME,
      settings: list({ enum: secrets.map(({ name }) => name) }),
    }),
    filesSecret: TEXT,
    index: object({
      replicas: COUNT,
      pipelines: list({ ...list({ enum: ledgerPipelines.map(({ name }) => name) }), minItems: 1 }),
    }),
    serve: list(
      object({ interface: { enum: ["all", "graphql", "rest", "ta"] }, replicas: COUNT }, [
        "interface",
        "replicas",
      ]),
    ),
    backfill: object({
      from: CHECKPOINT,
      to: { anyOf: [CHECKPOINT, { type: "null" }] },
      workers: COUNT,
      threads: { type: "integer", minimum: 1, maximum: 64 },
    }),
    network: object({ callers: list(ANY), monitoring: list(ANY) }),
    resources: resources(["migrate", "index", "serve", "worker"]),
    run: list(TEXT),
  };
  const schema = { $schema: "http://json-schema.org/draft-07/schema#", ...object(properties) };
  return `${JSON.stringify(schema, null, 2)}\n`;
};
