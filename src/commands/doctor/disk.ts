/** Checks that the folder of DATA_DIR is writable and has room. Makes nothing. */
import { constants } from "node:fs";
import { access, stat, statfs } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Config } from "../../settings/config.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

const MIB = 1024 * 1024;

/** Below this the embedded Postgres, whose journal alone may take 4 GiB, will not last the day. */
const LITTLE_MIB = { embedded: 8 * 1024, given: 256 };

/** Below this writes may fail. */
const NO_ROOM_MIB = { embedded: 512, given: 16 };

/** Checks the folder, or where it would be made, and the cluster's if that is elsewhere. */
export const checkDisk = async ({
  dataDir,
  databaseUrl,
}: Pick<Config, "dataDir" | "databaseUrl">): Promise<readonly Finding[]> => {
  const kind = databaseUrl === undefined ? "embedded" : "given";
  const folder = resolve(dataDir);
  const found = await nearest(folder);
  if (!(await stat(found)).isDirectory()) {
    return [
      fail(`${found} is not a folder`, "set DATA_DIR to a folder that this user can write to"),
    ];
  }
  const writable = await access(found, constants.W_OK | constants.X_OK).then(
    () => true,
    () => false,
  );
  const cluster = join(folder, "postgres");
  const elsewhere = kind === "embedded" && (await isOtherDevice(found, cluster));
  return [
    ...(writable
      ? []
      : [
          fail(
            `${found} is not writable for user ${process.getuid?.() ?? "?"}`,
            "set DATA_DIR to a folder that this user can write to",
          ),
        ]),
    await room(found, elsewhere ? "given" : kind),
    ...(elsewhere ? [await room(cluster, kind)] : []),
  ];
};

/** The folder itself, or its nearest existing parent. */
const nearest = async (folder: string): Promise<string> => {
  const there = await stat(folder).then(
    () => true,
    () => false,
  );
  return there || dirname(folder) === folder ? folder : nearest(dirname(folder));
};

const isOtherDevice = async (one: string, other: string): Promise<boolean> => {
  const [a, b] = await Promise.all(
    [one, other].map((path) =>
      stat(path).then(
        ({ dev }) => dev,
        () => undefined,
      ),
    ),
  );
  return b !== undefined && a !== b;
};

const room = async (folder: string, kind: "embedded" | "given"): Promise<Finding> => {
  const { bavail, bsize } = await statfs(folder);
  const free = (bavail * bsize) / MIB;
  const says = `${shown(free)} free in ${folder}`;
  if (free < NO_ROOM_MIB[kind]) return fail(says, "free space, or set DATA_DIR to another folder");
  if (free < LITTLE_MIB[kind]) {
    return warn(says, `free space: at least ${shown(LITTLE_MIB[kind])} are recommended`);
  }
  return ok(says);
};

const shown = (mib: number): string =>
  mib < 1024 ? `${Math.floor(mib)} MiB` : `${(mib / 1024).toFixed(1)} GiB`;
