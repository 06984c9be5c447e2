/** Kubernetes' own word on its objects, from the schemas and types that are made of its API. */
import { execFile } from "node:child_process";
import { mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { Deployment } from "kubernetes-models/apps/v1/Deployment";
import { Job } from "kubernetes-models/batch/v1/Job";
import { NetworkPolicy } from "kubernetes-models/networking.k8s.io/v1/NetworkPolicy";
import { PodDisruptionBudget } from "kubernetes-models/policy/v1/PodDisruptionBudget";
import { Service } from "kubernetes-models/v1/Service";

const run = promisify(execFile);

const NODE_MODULES = fileURLToPath(new URL("../../node_modules", import.meta.url));

type Model<T> = {
  readonly is: (value: unknown) => value is T;
  new (data: T): { validate(): void };
};

const refusal = <T>(model: Model<T>, object: unknown): readonly string[] | undefined => {
  if (!model.is(object)) return undefined;
  try {
    new model(object).validate();
    return [];
  } catch (error) {
    return [String(error)];
  }
};

/** Values that a cluster would refuse; it ignores fields that it does not know, and so does this. */
export const refusals = (object: unknown): readonly string[] =>
  refusal(Deployment, object) ??
  refusal(Job, object) ??
  refusal(Service, object) ??
  refusal(NetworkPolicy, object) ??
  refusal(PodDisruptionBudget, object) ?? [`not known here: ${JSON.stringify(object)}`];

const TYPES: Readonly<Record<string, string>> = {
  Deployment: "apps/v1",
  Job: "batch/v1",
  Service: "v1",
  NetworkPolicy: "networking.k8s.io/v1",
  PodDisruptionBudget: "policy/v1",
};

/** What the compiler says of the objects as literals of their types: fields that Kubernetes does not know. */
export const unknownFields = async (
  objects: readonly { readonly kind?: string }[],
): Promise<string> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-kubernetes-"));
  try {
    await symlink(NODE_MODULES, join(folder, "node_modules"));
    const imports = Object.entries(TYPES).map(
      ([kind, group]) => `import type { I${kind} } from "kubernetes-models/${group}/${kind}";`,
    );
    const literals = objects.map(
      (object, at) =>
        `export const object${at}: I${object.kind} = ${JSON.stringify(object, null, 1)};`,
    );
    await writeFile(join(folder, "objects.ts"), [...imports, ...literals].join("\n"));
    const tsc = join(NODE_MODULES, "typescript", "bin", "tsc");
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--types", "node"];
    const modules = ["--module", "nodenext", "--target", "es2024", "--pretty", "false"];
    const { stdout } = await run(
      process.execPath,
      [tsc, ...options, ...modules, join(folder, "objects.ts")],
      { cwd: folder },
    ).catch((error: { readonly stdout: string }) => error);
    return stdout;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
