/** Checks that the queues' Redis answers and evicts nothing. */
import type { Config } from "../../settings/config.ts";
import { shownUrl } from "../../settings/shown-url.ts";
import { type Finding, fail, ok, warn } from "./finding.ts";

/** The oldest version that BullMQ supports. */
const OLDEST = [6, 2] as const;

/** Writes nothing. */
export const checkRedis = async ({
  redisUrl,
}: Pick<Config, "redisUrl">): Promise<readonly Finding[]> => {
  if (redisUrl === undefined) return [ok("not used: queues run on Postgres (REDIS_URL)")];
  const { Redis } = await import("ioredis");
  const redis = new Redis(redisUrl, {
    lazyConnect: true,
    connectTimeout: 5_000,
    commandTimeout: 5_000,
    maxRetriesPerRequest: 0,
    retryStrategy: () => null,
  });
  let trouble: Error | undefined;
  redis.on("error", (error: Error) => {
    trouble = error;
  });
  try {
    // The rejection only reports a closed connection; the event before has the cause.
    await redis.connect().catch((error: Error) => {
      throw trouble ?? error;
    });
    const server = await redis.info("server");
    const version = /redis_version:([\d.]+)/.exec(server)?.[1] ?? "?";
    const memory = await redis.info("memory");
    const policy = /maxmemory_policy:(\S+)/.exec(memory)?.[1] ?? "noeviction";
    const where = shownUrl(redisUrl);
    if (!isNewEnough(version)) {
      return [fail(`Redis ${version} at ${where} is too old`, `use ${OLDEST.join(".")} or newer`)];
    }
    if (policy !== "noeviction") {
      return [
        warn(
          `Redis ${version} at ${where} may evict entries of queues (maxmemory-policy ${policy})`,
          "set maxmemory-policy to noeviction",
        ),
      ];
    }
    return [ok(`Redis ${version} answers at ${where}`)];
  } finally {
    redis.disconnect();
  }
};

const isNewEnough = (version: string): boolean => {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  return major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1]);
};
