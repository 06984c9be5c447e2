// @module-tag thorough
/** The image, made step by step in a folder, and the service started from it as the image would. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, rmSync } from "node:fs";
import {
  access,
  chmod,
  constants,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  rm,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { endWithRun, IN_MEMORY, runFolder } from "../run-folder.ts";
import { eventually } from "../service/process.ts";
import { freePort } from "../shipped-postgres.ts";
import { type Performed, perform, stepsOf } from "./dockerfile.ts";

const run = promisify(execFile);

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const DOCKERFILE = join(ROOT, "Dockerfile");

/** Somebody who owns nothing of the image but /data; ourselves where we may not become another. */
const isRoot = process.getuid?.() === 0;
const user = isRoot
  ? { uid: 65_534, gid: 65_534 }
  : { uid: process.getuid?.() ?? 0, gid: process.getgid?.() ?? 0 };

let folder: string;
let image: Performed;

beforeAll(async () => {
  folder = await folderForImage();
  const ignored = (await readFile(join(ROOT, ".dockerignore"), "utf8")).trim().split("\n");
  image = await perform(DOCKERFILE, { context: ROOT, ignored, into: folder, user });
}, 300_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/**
 * A folder that another user may pass, other than the run's own. In memory if programs may be run there: npm writes
 * 43 000 files, which takes a disk four times the processor time.
 */
const folderForImage = async (): Promise<string> => {
  // As of a run of this process: where it is killed, the next run removes it.
  if (dirname(runFolder) === IN_MEMORY) {
    await mkdir(runFolder);
    // Whatever the mask of new files.
    await chmod(runFolder, 0o755);
    const program = join(runFolder, "program");
    await writeFile(program, "#!/bin/sh\n", { mode: 0o755 });
    // Refused to everybody on a file system that is mounted so.
    const isRun = await access(program, constants.X_OK).then(
      () => true,
      () => false,
    );
    await rm(isRun ? program : runFolder, { recursive: true });
    if (isRun) return runFolder;
  }
  const path = await mkdtemp(
    join(existsSync("/var/tmp") ? "/var/tmp" : tmpdir(), "holderbook-image-"),
  );
  await chmod(path, 0o755);
  return path;
};

/** Runs the image's program, with its settings, on its own Node. */
const started = (args: readonly string[], settings: Readonly<Record<string, string>>) => {
  const { root, workdir, env, entrypoint } = image;
  const [program = "", ...rest] = entrypoint;
  expect(program).toBe("node");
  const here = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, value.replace(/^\//, `${root}/`)]),
  );
  const child = spawn(join(root, workdir, "node_modules/node/bin/node"), [...rest, ...args], {
    cwd: join(root, workdir),
    // Postgres and others find their programs; nothing else is known of this machine.
    env: { PATH: process.env.PATH, ...here, HOST: "127.0.0.1", ...settings },
    stdio: ["ignore", "pipe", "pipe"],
    ...(isRoot && user),
  });
  endWithRun(child);
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.on("data", (chunk: Buffer) => {
      printed += chunk.toString();
    });
  }
  return { child, printed: () => printed, ended: once(child, "close") };
};

test("the image runs as an unprivileged user, without tools, tests or secrets", async () => {
  const steps = stepsOf(await readFile(DOCKERFILE, "utf8"));
  expect(steps.filter(({ step }) => step === "FROM")).toHaveLength(2);
  expect(image.user).toBe("node");
  const app = join(image.root, image.workdir);
  const names = await readdir(app);
  expect(names).toEqual(expect.arrayContaining(["bin", "client", "demo", "drizzle", "src", "web"]));
  expect(names.filter((name) => /^(test|bench|docs|deploy|\.env|\.git)$/.test(name))).toEqual([]);
  const packages = await readdir(join(app, "node_modules"));
  expect(
    packages.filter((name) => /^(vite|vitest|react|echarts|playwright-core)$/.test(name)),
  ).toEqual([]);
  expect(await readdir(join(app, "web"))).toEqual(["dist"]);
});

test("the service starts from a read-only tree, serves the page, and leaves the tree unchanged", {
  timeout: 180_000,
}, async () => {
  const port = await freePort();
  const settings = { PORT: `${port}`, DEMO_HISTORY: "50", LOG_LEVEL: "warn" };
  const { child, printed, ended } = started(image.command, settings);
  try {
    const url = `http://127.0.0.1:${port}`;
    await eventually("/ready", async () => {
      const status = await fetch(`${url}/ready`).then(
        (answer) => answer.status,
        () => 0,
      );
      if (child.exitCode !== null) throw new Error(printed());
      return status === 200 ? { done: true } : { seen: printed() };
    });
    const page = await fetch(url, { headers: { accept: "text/html" } });
    expect(page.headers.get("content-type")).toContain("text/html");
    expect(await page.text()).toContain("<script");
    const doctor = started(["doctor", "--strict"], settings);
    await doctor.ended;
    expect(doctor.printed()).toContain("in use by Holderbook");
    expect({ code: doctor.child.exitCode, printed: doctor.printed() }).toMatchObject({ code: 0 });
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
  expect(child.exitCode).toBe(0);
  if (isRoot) expect(await ownedBy(join(image.root, image.workdir), user.uid)).toEqual([]);
});

/** Files and folders of a user. */
const ownedBy = async (path: string, uid: number): Promise<readonly string[]> => {
  const { stdout } = await run("find", [path, "-uid", `${uid}`]);
  return stdout.split("\n").filter((found) => found !== "");
};
