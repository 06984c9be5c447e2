/** `deploy/helm`: what it asks of a cluster, held to Kubernetes' own schemas and to the program. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { COMMANDS } from "../../src/commands/list.ts";
import { END_WITHIN_MS } from "../../src/commands/runtime.ts";
import { ledgerPipelines } from "../../src/pipelines/ledger-pipelines.ts";
import { SETTINGS } from "../../src/settings/config.ts";
import { readConfig, SECRETS } from "../../src/settings/read-config.ts";
import { VERSION } from "../../src/telemetry/version.ts";
import {
  CHART,
  containerOf,
  EXAMPLE,
  helm,
  type KubernetesObject,
  NO_HELM,
  rendered,
  roleOf,
  type Workload,
  workloads,
} from "./chart.ts";
import { refusals, unknownFields } from "./kubernetes.ts";

const SMALLEST = ["settings.LEDGER_SOURCE=https://ledger.example", "secret.name=plain"];

const [FIRST = "", ...OTHERS] = ledgerPipelines.map(({ name }) => name);

const BASIC = ["DATABASE_URL", "DATABASE_OWNER_URL", "CALLBACK_MASTER_KEY", "PII_KEYS"];
const OPTIONAL = SECRETS.map(({ name }) => name).filter((name) => !BASIC.includes(name));
const EVERY_SECRET = `secret.settings={${OPTIONAL.join(",")}}`;

/** The chart in every form: roles together and apart, with a backfill, and one command. */
const forms = async (): Promise<readonly (readonly KubernetesObject[])[]> => {
  const files = [EXAMPLE];
  const groups = [`index.pipelines[0]={${FIRST}}`, `index.pipelines[1]={${OTHERS.join(",")}}`];
  const peers = ["network.callers[0].podSelector.matchLabels.app=proxy"];
  const backfill = ["backfill.from=7", "backfill.to=306000000", "index.replicas=0"];
  const command = ["run={rebuild,token_activity}"];
  return [
    await rendered("plain", { set: SMALLEST }),
    await rendered("apart", { files, set: [...groups, ...peers, EVERY_SECRET] }),
    await rendered("filling", { files, set: [...backfill, EVERY_SECRET] }),
    await rendered("once", { files, set: [...command, EVERY_SECRET] }, "templates/run.yaml"),
  ];
};

/** What each role reads, if the register has all secrets. */
const everything = [...OPTIONAL, ...BASIC];
const processed = everything.filter((name) => name !== "DATABASE_OWNER_URL");
const served = processed.filter((name) => !name.startsWith("TA_"));
const ledger = ["DATABASE_URL", "REDIS_URL", "LEDGER_HEADERS"];

const ROLES: Readonly<Record<string, readonly [args: string, secrets: readonly string[]]>> = {
  migrate: ["migrate", ["DATABASE_URL", "DATABASE_OWNER_URL"]],
  index: ["index --pipelines none", processed],
  "pipelines-1": [`index --pipelines ${FIRST}`, ledger],
  "pipelines-2": [`index --pipelines ${OTHERS.join(",")}`, ledger],
  "serve-graphql": ["serve graphql", served],
  "serve-rest": ["serve rest", served],
  "serve-ta": ["serve ta", served],
  backfill: ["backfill --from 7 --to 306000000", ledger],
  worker: ["work backfill --threads 2", ledger],
  run: ["rebuild token_activity", everything],
};

const podOf = ({ spec }: Workload) => spec.template.spec;

/** Whether a selector's labels are all on the pod. */
const selects = (selector: unknown, { spec }: Workload): boolean => {
  const { matchLabels } = Object(selector);
  return Object.entries(Object(matchLabels)).every(
    ([name, value]) => spec.template.metadata.labels[name] === value,
  );
};

const isDeployment = ({ kind }: KubernetesObject): boolean => kind === "Deployment";

describe.skipIf(NO_HELM !== undefined)("the chart", () => {
  let all: Awaited<ReturnType<typeof forms>>;
  let works: readonly Workload[];

  beforeAll(async () => {
    all = await forms();
    works = workloads(all.flat());
  });

  test("asks for nothing that Kubernetes does not know or would refuse", async () => {
    expect(all.flat().flatMap(refusals)).toEqual([]);
    expect(await unknownFields(all.flat())).toBe("");
    const [one] = works;
    const mistyped = { ...one, spec: { ...one?.spec, replicaz: 2 } };
    expect(await unknownFields([mistyped])).toContain("replicaz");
    expect(refusals({ ...one, spec: { replicas: "2" } })).not.toEqual([]);
  });

  test("runs every role as a process, with the secrets of its own work and no others", () => {
    const seen = Object.fromEntries(
      works
        .filter(({ metadata, spec }) => !metadata.name?.startsWith("plain") && spec.replicas !== 0)
        .map((work) => {
          const { args, env } = containerOf(work);
          const secrets = env.flatMap(({ name }) => /^(.*)_FILE$/.exec(name)?.slice(1) ?? []);
          const known = secrets.filter((name) => everything.includes(name));
          return [roleOf(work), [args.join(" "), known.toSorted()]];
        }),
    );
    const expected = Object.entries(ROLES).map(([role, [args, secrets]]) => [
      role,
      [args, secrets.toSorted()],
    ]);
    expect(seen).toEqual(Object.fromEntries(expected));
    const plain = works.filter(({ metadata }) => metadata.name?.startsWith("plain"));
    expect(plain.map((work) => containerOf(work).args)).toEqual([
      ["index"],
      ["serve"],
      ["migrate"],
    ]);
  });

  test("names commands and options of the program, and settings that it accepts", async () => {
    for (const work of works) {
      const { args, env } = containerOf(work);
      const words = args.filter((each) => !each.startsWith("-"));
      const outer = await COMMANDS[words[0] ?? ""]?.load();
      expect(outer, words[0]).toBeDefined();
      const command = outer?.commands.find((each) => each.name() === words[1]) ?? outer;
      const options = command?.options.map(({ long }) => long) ?? [];
      expect(options).toEqual(expect.arrayContaining(args.filter((each) => each.startsWith("--"))));
      const mounted = podOf(work).volumes.flatMap(({ secret }) => secret?.items ?? []);
      const settings = env.filter(({ name, value }) => {
        const secret = SECRETS.find(({ file }) => file === name)?.name;
        if (secret === undefined) return true;
        // Only its place is in the manifest.
        expect(value).toBe(`/run/secrets/${secret}`);
        expect(mounted).toContainEqual({ key: secret, path: secret });
        return false;
      });
      const open = SETTINGS.filter((each) => each.shown !== "secret").map(({ name }) => name);
      expect(open).toEqual(expect.arrayContaining(settings.map(({ name }) => name)));
      const given = Object.fromEntries(settings.map(({ name, value }) => [name, value]));
      const { port, metricsPort } = readConfig({ ...given, SECURITY_TOKEN_PACKAGES: undefined });
      const ports = containerOf(work).ports.map((each) => [each.name, each.containerPort]);
      const expected = [
        ["http", port],
        ["metrics", metricsPort],
      ] as const;
      expect(expected).toEqual(expect.arrayContaining(ports));
    }
  });

  test("lets no process be root, write its image, or use more than its share", () => {
    for (const work of works) {
      const pod = podOf(work);
      const { resources, securityContext, volumeMounts } = containerOf(work);
      expect(pod.securityContext).toMatchObject({
        runAsNonRoot: true,
        runAsUser: 1000,
        seccompProfile: { type: "RuntimeDefault" },
      });
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ["ALL"] },
      });
      expect(pod.automountServiceAccountToken).toBe(false);
      // Else a Service named `metrics` would set METRICS_PORT.
      expect(pod.enableServiceLinks).toBe(false);
      for (const share of [resources.requests, resources.limits]) {
        expect(Object.keys(share ?? {}).toSorted()).toEqual(["cpu", "ephemeral-storage", "memory"]);
      }
      expect(pod.volumes.map(({ name }) => name)).toEqual(volumeMounts.map(({ name }) => name));
      expect(volumeMounts).toEqual(expect.arrayContaining([{ name: "tmp", mountPath: "/tmp" }]));
    }
  });

  test("waits for each process to end by itself, and for its last requests", () => {
    for (const work of works) {
      const { lifecycle, ports } = containerOf(work);
      const [, seconds = "0"] = lifecycle?.preStop.exec.command ?? [];
      expect(podOf(work).terminationGracePeriodSeconds * 1_000).toBeGreaterThanOrEqual(
        Number(seconds) * 1_000 + END_WITHIN_MS,
      );
      const isServed = ports.some(({ name }) => name === "http");
      expect(Number(seconds) > 0).toBe(isServed);
    }
  });

  test("probes whatever goes on, and restarts nothing because the database is away", () => {
    for (const work of works) {
      const { ports, startupProbe, readinessProbe, livenessProbe } = containerOf(work);
      const [port] = ports;
      expect(isDeployment(work) ? port : "a Job").toBeDefined();
      if (port === undefined) continue;
      const ready = port.name === "http" ? "/ready" : "/metrics";
      for (const probe of [startupProbe, readinessProbe]) {
        expect(probe?.httpGet).toEqual({ path: ready, port: port.name });
      }
      expect(livenessProbe?.httpGet).toEqual({ path: "/metrics", port: port.name });
    }
  });

  test("keeps all but one process of a role through a disruption, and serves while it rolls out", () => {
    for (const objects of all) {
      const deployments = workloads(objects).filter(isDeployment);
      const budgets = objects.filter(({ kind }) => kind === "PodDisruptionBudget");
      expect(budgets.map(roleOf)).toEqual(deployments.map(roleOf));
      for (const { spec } of budgets) {
        expect(spec).toMatchObject({ maxUnavailable: 1 });
        const { selector } = Object(spec);
        expect(deployments.filter((each) => selects(selector, each))).toHaveLength(1);
      }
      for (const work of deployments) {
        const { strategy } = work.spec;
        if (containerOf(work).ports[0]?.name === "http") {
          expect(strategy).toMatchObject({ rollingUpdate: { maxUnavailable: 0 } });
        } else if (roleOf(work) !== "worker") {
          // Two versions do not write at the same time.
          expect(strategy).toEqual({ type: "Recreate" });
        }
      }
    }
  });

  test("lets requests reach the API and the metrics only", () => {
    const [, apart = []] = all;
    const services = apart.filter(({ kind }) => kind === "Service");
    expect(services.map(roleOf)).toEqual(["serve-graphql", "serve-rest", "serve-ta"]);
    const policies = apart.filter(({ kind }) => kind === "NetworkPolicy").map(({ spec }) => spec);
    expect(policies).toMatchObject([
      {
        policyTypes: ["Ingress"],
        ingress: [{ ports: [{ port: "http" }], from: [{ podSelector: {} }] }],
      },
      { policyTypes: ["Ingress"], ingress: [{ ports: [{ port: "metrics" }] }] },
    ]);
    for (const work of workloads(apart)) {
      const covering = policies.filter((spec) => {
        const { podSelector } = Object(spec);
        const [{ operator, values }] = podSelector.matchExpressions;
        return selects(podSelector, work) && values.includes(roleOf(work)) === (operator === "In");
      });
      expect(covering, roleOf(work)).toHaveLength(1);
    }
  });

  test("migrates before it rolls anything out", () => {
    for (const objects of all.slice(0, 3)) {
      const hooks = objects.filter(({ metadata }) => "helm.sh/hook" in metadata.annotations);
      expect(hooks.map(roleOf)).toEqual(["migrate"]);
      expect(hooks[0]?.metadata.annotations).toMatchObject({
        "helm.sh/hook": "pre-install,pre-upgrade",
        "helm.sh/hook-delete-policy": "before-hook-creation",
      });
    }
  });

  test("gives two registers in one namespace nothing in common", async () => {
    const second = ["secret.name=other", "filesSecret=other-files"];
    const [one, other] = [
      await rendered("one", { files: [EXAMPLE] }),
      await rendered("other", { files: [EXAMPLE], set: second }),
    ];
    const nameOf = ({ kind, metadata: { name } }: KubernetesObject) => `${kind} ${name}`;
    const names = new Set(one.map(nameOf));
    expect(other.map(nameOf).filter((name) => names.has(name))).toEqual([]);
    const secretsOf = (objects: readonly KubernetesObject[]) =>
      new Set(
        workloads(objects).flatMap((work) =>
          podOf(work).volumes.flatMap(({ secret }) => secret?.secretName ?? []),
        ),
      );
    expect(secretsOf(one)).toEqual(new Set(["acme", "acme-files"]));
    expect(secretsOf(other)).toEqual(new Set(["other", "other-files"]));
    for (const { kind, spec } of one) {
      const { selector, podSelector } = Object(spec);
      const labels = kind === "Service" ? { matchLabels: selector } : (selector ?? podSelector);
      if (labels === undefined) continue;
      expect(workloads(one).some((work) => selects(labels, work))).toBe(true);
      expect(workloads(other).filter((work) => selects(labels, work))).toEqual([]);
    }
  });

  test.each([
    ["settings.LEDGER_SOURC=x", "LEDGER_SOURC"],
    ["settings.LEDGER_SOURCE=demo:", "LEDGER_SOURCE"],
    ["settings.DATABASE_POOL=20", "DATABASE_POOL"],
    ["settings.PII_KEYS=a", "PII_KEYS"],
    ["settings.PORT=80", "PORT"],
    ["secret.settings={RATE_LIMIT_PER_MINUTE}", "secret.settings.0"],
    ["secret.name=", "secret.name"],
    ["index.pipelines[0]={nothing}", "index.pipelines.0.0"],
    ["serve[0].interface=grpc", "serve.0.interface"],
    ["backfill.to=9", "set index.replicas to 0"],
  ])("refuses %s, and names it", async (set, named) => {
    await expect(rendered("acme", { files: [EXAMPLE], set: [set] })).rejects.toThrow(named);
  });

  test("passes Helm's own check, and has the program's version", async () => {
    const printed = await helm("lint", CHART, "--strict", "--values", EXAMPLE);
    expect(printed).toContain("0 chart(s) failed");
    const { version, appVersion } = parse(await readFile(join(CHART, "Chart.yaml"), "utf8"));
    expect([version, appVersion]).toEqual([VERSION, VERSION]);
  });
});
