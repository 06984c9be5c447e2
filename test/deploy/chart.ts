/** The chart in `deploy/helm`, rendered by Helm itself, as typed objects of Kubernetes. */
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { unzipSync } from "fflate";
import { parseAllDocuments } from "yaml";
import { z } from "zod";

const run = promisify(execFile);

export const CHART = fileURLToPath(new URL("../../deploy/helm/", import.meta.url));

/** Values of a register that sets everything. */
export const EXAMPLE = join(CHART, "register.example.yaml");

/** A package for another purpose that contains Helm 3.8 for Linux on x64. */
const PACKAGED = fileURLToPath(
  new URL("../../node_modules/@aws-cdk/asset-kubectl-v20/lib/layer.zip", import.meta.url),
);

const isPackaged = process.platform === "linux" && process.arch === "x64";

/** Why there is no Helm here; undefined if there is. `HELM` names a program to use instead. */
export const NO_HELM =
  isPackaged || process.env.HELM ? undefined : "set HELM: there is no packaged one for this system";

let unpacked: Promise<string> | undefined;

const program = (): Promise<string> => {
  if (process.env.HELM) return Promise.resolve(process.env.HELM);
  unpacked ??= (async () => {
    const name = "helm/helm";
    const files = unzipSync(await readFile(PACKAGED), { filter: (file) => file.name === name });
    const folder = join(tmpdir(), "helm");
    await mkdir(folder, { recursive: true });
    const path = join(folder, `helm-${process.pid}`);
    await writeFile(path, files[name] ?? new Uint8Array(), { mode: 0o755 });
    return path;
  })();
  return unpacked;
};

/** Runs Helm. Rejects with its output, if it fails. */
export const helm = async (...args: readonly string[]): Promise<string> => {
  const { stdout } = await run(await program(), args, { maxBuffer: 16 * 1024 * 1024 });
  return stdout;
};

const object = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string().optional(),
    labels: z.record(z.string(), z.string()),
    annotations: z.record(z.string(), z.string()).default({}),
  }),
});

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.string(), port: z.string() }),
  periodSeconds: z.number(),
  timeoutSeconds: z.number(),
  failureThreshold: z.number().default(3),
});

const pod = z.object({
  metadata: z.object({ labels: z.record(z.string(), z.string()) }),
  spec: z.looseObject({
    terminationGracePeriodSeconds: z.number(),
    automountServiceAccountToken: z.boolean(),
    enableServiceLinks: z.boolean(),
    securityContext: z.looseObject({}),
    containers: z.tuple([
      z.looseObject({
        image: z.string(),
        args: z.array(z.string()),
        env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
        ports: z.array(z.strictObject({ name: z.string(), containerPort: z.number() })).default([]),
        startupProbe: probe.optional(),
        readinessProbe: probe.optional(),
        livenessProbe: probe.optional(),
        lifecycle: z
          .object({
            preStop: z.object({ exec: z.object({ command: z.tuple([z.string(), z.string()]) }) }),
          })
          .optional(),
        resources: z.record(z.enum(["requests", "limits"]), z.record(z.string(), z.string())),
        securityContext: z.looseObject({}),
        volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })),
      }),
    ]),
    volumes: z.array(
      z.looseObject({
        name: z.string(),
        secret: z
          .looseObject({
            secretName: z.string(),
            items: z.array(z.strictObject({ key: z.string(), path: z.string() })).optional(),
          })
          .optional(),
      }),
    ),
  }),
});

const workload = object.extend({
  spec: z.looseObject({ template: pod, replicas: z.number().optional() }),
});

export type KubernetesObject = z.infer<typeof object>;

/** A Deployment or a Job. */
export type Workload = z.infer<typeof workload>;

export type Container = Workload["spec"]["template"]["spec"]["containers"][0];

/**
 * A release as Helm would apply it.
 * @param values files of values, and settings in the form of `--set`
 * @param only the template to render, instead of all
 */
export const rendered = async (
  release: string,
  values: { readonly files?: readonly string[]; readonly set?: readonly string[] },
  only?: string,
): Promise<readonly KubernetesObject[]> => {
  const text = await helm(
    ...["template", release, CHART, "--kube-version", "1.30.0"],
    ...(values.files ?? []).flatMap((file) => ["--values", file]),
    ...(values.set ?? []).flatMap((set) => ["--set", set]),
    ...(only === undefined ? [] : ["--show-only", only]),
  );
  return parseAllDocuments(text, { version: "1.1" }).flatMap((document) => {
    if (document.errors.length > 0) throw new Error(document.errors.join("\n"));
    const content: unknown = document.toJS();
    return content === null ? [] : [object.parse(content)];
  });
};

export const workloads = (objects: readonly KubernetesObject[]): readonly Workload[] =>
  objects
    .filter(({ kind }) => kind === "Deployment" || kind === "Job")
    .map((each) => workload.parse(each));

/** Its one container. */
export const containerOf = ({ spec }: Workload): Container => spec.template.spec.containers[0];

/** `migrate`, `index`, `serve` and so on. */
export const roleOf = ({ metadata: { labels } }: KubernetesObject): string =>
  labels["app.kubernetes.io/component"] ?? "";
