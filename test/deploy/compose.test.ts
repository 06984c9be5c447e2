/** `deploy/compose.yaml`: what it asks of an engine, held to the program's commands and settings. */
import { execFile } from "node:child_process";
import { cp, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { parse } from "yaml";
import { z } from "zod";
import { CHECKS } from "../../src/commands/doctor/finding.ts";
import { COMMANDS } from "../../src/commands/list.ts";
import { SETTINGS } from "../../src/settings/config.ts";
import { readConfig, SECRETS, withSecretFiles } from "../../src/settings/read-config.ts";

const run = promisify(execFile);

const DEPLOY = fileURLToPath(new URL("../../deploy/", import.meta.url));

const service = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  profiles: z.array(z.string()).default([]),
  environment: z.record(z.string(), z.string()).default({}),
  secrets: z.array(z.string()).default([]),
  volumes: z.array(z.string()).default([]),
  networks: z.array(z.string()),
  ports: z.array(z.string()).default([]),
  read_only: z.boolean(),
  cap_drop: z.array(z.string()),
  security_opt: z.array(z.string()),
  restart: z.string(),
  user: z.string().optional(),
  tmpfs: z.array(z.string()),
  healthcheck: z
    .object({ test: z.array(z.string()), interval: z.string(), timeout: z.string() })
    .loose(),
  deploy: z.object({
    resources: z.object({
      limits: z.object({ cpus: z.string(), memory: z.string(), pids: z.number() }),
    }),
  }),
});

const file = z.looseObject({
  services: z.record(z.string(), service),
  volumes: z.record(z.string(), z.unknown()),
  networks: z.record(z.string(), z.object({ internal: z.boolean().optional() })),
  secrets: z.record(z.string(), z.object({ file: z.string() })),
});

const compose = async () =>
  file.parse(parse(await readFile(join(DEPLOY, "compose.yaml"), "utf8"), { merge: true }));

test("every service is hardened, bounded and monitored", async () => {
  const { services, networks } = await compose();
  const byProfile = Object.groupBy(Object.entries(services), ([, each]) => each.profiles.join());
  expect(
    Object.entries(byProfile).map(([profile, all = []]) => [profile, all.map(([name]) => name)]),
  ).toEqual([
    ["", ["index", "serve", "postgres", "redis"]],
    ["backfill", ["backfill", "worker"]],
    ["replica", ["replica"]],
  ]);
  for (const [name, each] of Object.entries(services)) {
    expect({ name, readOnly: each.read_only, caps: each.cap_drop, opt: each.security_opt }).toEqual(
      {
        name,
        readOnly: true,
        caps: ["ALL"],
        opt: ["no-new-privileges:true"],
      },
    );
    // Where they write although the root is read-only.
    expect(each.tmpfs.some((at) => at.startsWith("/tmp:size="))).toBe(true);
    for (const port of each.ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  }
  expect(networks.inside?.internal).toBe(true);
  const users = { postgres: "postgres", replica: "postgres", redis: "redis" };
  for (const [name, user] of Object.entries(users)) {
    expect(services[name]?.networks).toEqual(["inside"]);
    expect(services[name]?.user).toBe(user);
  }
});

test("its processes run existing commands with existing settings", async () => {
  const { services, secrets, volumes } = await compose();
  const ours = Object.values(services).filter(({ image }) => image === "holderbook");
  expect(ours.map(({ command = [] }) => command.join(" "))).toEqual([
    "index",
    expect.stringMatching(/^backfill --from \$\{BACKFILL_FROM:-0\} --to \$\{BACKFILL_TO:-\}$/),
    "work backfill",
    "serve",
  ]);
  const files = SECRETS.map(({ file: name }) => name);
  for (const { command = [], environment, healthcheck } of ours) {
    expect(command[0] !== undefined && command[0] in COMMANDS).toBe(true);
    const unknown = Object.keys(environment).filter(
      // Where Node and what it runs put files for a while.
      (name) =>
        name !== "TMPDIR" && !SETTINGS.some((each) => each.name === name) && !files.includes(name),
    );
    expect(unknown).toEqual([]);
    const [, , program = "", check = "", , checks = ""] = healthcheck.test;
    if (program !== "bin/holderbook.mjs") continue;
    expect(check in COMMANDS).toBe(true);
    const all: readonly string[] = CHECKS;
    expect(checks.split(",").filter((one) => !all.includes(one))).toEqual([]);
  }
  // What a service names is there, and everything that is there is used.
  const named = (of: "secrets" | "volumes") =>
    new Set(
      Object.values(services)
        .flatMap((each) => each[of].map((one) => one.split(":")[0]))
        // Folders beside the file.
        .filter((name) => !name?.startsWith("./")),
    );
  expect(named("secrets")).toEqual(new Set(Object.keys(secrets)));
  expect(named("volumes")).toEqual(new Set(Object.keys(volumes)));
});

test("the secrets are made once, readable by their owner only, and accepted by the settings", async () => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-compose-"));
  try {
    await cp(join(DEPLOY, "make-secrets.sh"), join(folder, "make-secrets.sh"));
    const make = () => run("sh", [join(folder, "make-secrets.sh")]);
    await make();
    const { services, secrets } = await compose();
    const read = () =>
      Promise.all(
        Object.values(secrets).map(({ file: path }) => readFile(join(folder, path), "utf8")),
      );
    const before = await read();
    expect(new Set(before).size).toBe(before.length);
    expect((await make()).stdout).toBe("");
    expect(await read()).toEqual(before);
    expect((await stat(join(folder, "secrets"))).mode & 0o077).toBe(0);
    const environmentOf = (name: string, given: Readonly<Record<string, string>> = {}) =>
      Object.fromEntries(
        Object.entries({ ...services[name]?.environment, ...given }).map(([setting, path]) => [
          setting,
          path.replace("/run/secrets", join(folder, "secrets")),
        ]),
      );
    const config = readConfig(withSecretFiles(environmentOf("index")));
    expect(config.databaseUrl).toMatch(
      /^postgres:\/\/holderbook_service:[0-9a-f]{48}@postgres:5432\/holderbook$/,
    );
    for (const name of ["serve", "worker"]) {
      expect(services[name]?.secrets).not.toContain("database-url");
    }
    // As deploy/.env sets it for the profile `replica`.
    const setting = "DATABASE_READ_URL_FILE";
    expect(services.serve?.environment[setting]).toMatch(/^\$\{DATABASE_READ_URL_FILE:-\}$/);
    const replica = { [setting]: "/run/secrets/database-read-url" };
    expect(readConfig(withSecretFiles(environmentOf("serve", replica))).databaseReadUrls).toEqual([
      config.databaseUrl?.replace("@postgres:", "@replica:"),
    ]);
    expect(config.databaseOwnerUrl).toMatch(
      /^postgres:\/\/holderbook:[0-9a-f]{48}@postgres:5432\/holderbook$/,
    );
    expect(config.redisUrl).toMatch(/@redis:6379$/);
    expect(Buffer.from(config.callbacks.masterKey ?? "", "base64")).toHaveLength(32);
    expect(config.ta.piiKeys).toMatch(/^\d{4}-\d{2}:[\w+/]{43}=$/);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
});

test("an engine's own parser accepts the file", async ({ skip }) => {
  const there = await run("docker", ["compose", "version"]).then(
    () => true,
    () => false,
  );
  if (!there) skip("docker compose is not installed");
  await run("docker", ["compose", "--file", join(DEPLOY, "compose.yaml"), "config", "--quiet"]);
});
