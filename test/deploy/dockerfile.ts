/**
 * A Dockerfile performed in a folder, without a container engine: what its steps do to files, and what it says
 * of the process. Knows the steps that ours has, in their plain forms, and refuses all others.
 */
import { execFile } from "node:child_process";
import { chmod, cp, mkdir, readdir, readFile, stat, symlink } from "node:fs/promises";
import { basename, join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** The last stage, as far as a process started from it would see it. */
export type Performed = {
  /** Folder that stands for `/`. */
  readonly root: string;
  readonly workdir: string;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly entrypoint: readonly string[];
  readonly command: readonly string[];
};

type Stage = {
  readonly root: string;
  workdir: string;
  env: Record<string, string>;
  user: string;
  entrypoint: string[];
  command: string[];
};

/** Steps with their lines put together, without comments. */
export const stepsOf = (
  text: string,
): readonly { readonly step: string; readonly rest: string }[] =>
  text
    .replaceAll(/^\s*#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n")
    .flatMap((line) => {
      const [, step, rest] = /^([A-Z]+)\s+(.*)$/.exec(line.trim()) ?? [];
      return step === undefined || rest === undefined ? [] : [{ step, rest }];
    });

/**
 * @param context the folder that is sent to the build
 * @param ignored paths of it that are not, as `.dockerignore` names them
 * @param user who the image's unprivileged user is here
 */
export const perform = async (
  dockerfile: string,
  {
    context,
    ignored,
    into,
    user,
  }: {
    readonly context: string;
    readonly ignored: readonly string[];
    readonly into: string;
    readonly user: { readonly uid: number; readonly gid: number };
  },
): Promise<Performed> => {
  const stages = new Map<string, Stage>();
  let stage: Stage | undefined;
  const inside = (path: string) =>
    join(stage?.root ?? "", path.startsWith("/") ? path : join(stage?.workdir ?? "/", path));
  for (const { step, rest } of stepsOf(await readFile(dockerfile, "utf8"))) {
    if (step === "FROM") {
      const name = / AS (\w+)$/.exec(rest)?.[1] ?? `stage ${stages.size}`;
      const root = join(into, name.replaceAll(" ", "-"));
      stage = { root, workdir: "/", env: {}, user: "root", entrypoint: [], command: [] };
      stages.set(name, stage);
      await mkdir(join(root, "tmp"), { recursive: true });
      await chmod(join(root, "tmp"), 0o1777);
      continue;
    }
    if (stage === undefined) throw new Error(`${step} before FROM`);
    if (step === "WORKDIR") {
      stage.workdir = rest;
      await mkdir(inside(rest), { recursive: true });
    } else if (step === "COPY") {
      const words = rest.split(/\s+/);
      const from = words[0]?.startsWith("--from=")
        ? words.shift()?.slice("--from=".length)
        : undefined;
      const to = words.pop() ?? "";
      for (const word of words) {
        const source =
          from === undefined ? join(context, word) : join(stages.get(from)?.root ?? "", word);
        const isFolder = (await stat(source)).isDirectory();
        await cp(
          source,
          isFolder ? inside(to) : to.endsWith("/") ? join(inside(to), basename(word)) : inside(to),
          {
            recursive: true,
            filter: (path) =>
              from !== undefined ||
              !ignored.some(
                (name) => path === join(context, name) || path.startsWith(join(context, name, "/")),
              ),
          },
        );
      }
    } else if (step === "RUN") {
      if (rest.startsWith("npm ci ") && !rest.includes("--omit=dev")) {
        // The same packages are here, where this test was installed: a minute less.
        await linkPackages(join(context, "node_modules"), inside("node_modules"));
        continue;
      }
      // Absolute paths of the image, and its user, as they are here.
      const { root, workdir } = stage;
      const command = rest
        .replaceAll(/(?<=\s)\/(?=\w)/g, `${root}/`)
        .replaceAll("node:node", `${user.uid}:${user.gid}`)
        // The cache is this machine's.
        .replace(" && npm cache clean --force", "");
      await run("sh", ["-ec", command], {
        cwd: join(root, workdir),
        env: { PATH: process.env.PATH, HOME: process.env.HOME, npm_config_prefer_offline: "true" },
        maxBuffer: 16 * 1024 * 1024,
      });
    } else if (step === "ENV") {
      for (const [, name = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g))
        stage.env[name] = value;
    } else if (step === "USER") stage.user = rest;
    else if (step === "ENTRYPOINT") stage.entrypoint = JSON.parse(rest);
    else if (step === "CMD") stage.command = JSON.parse(rest);
    else if (!["VOLUME", "EXPOSE", "HEALTHCHECK"].includes(step))
      throw new Error(`${step} is not known here`);
  }
  if (stage === undefined) throw new Error("no FROM");
  return stage;
};

/** All packages, without what is kept between runs. */
const linkPackages = async (from: string, to: string): Promise<void> => {
  await mkdir(to);
  for (const name of await readdir(from)) {
    if (![".holderbook", ".vite"].includes(name)) await symlink(join(from, name), join(to, name));
  }
};
