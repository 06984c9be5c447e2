/** Postgres that crashes, is full, or cannot be reached; and Redis. */
import { setTimeout as delay } from "node:timers/promises";
import { until } from "../lanes/until.ts";
import type { Random } from "../seeded-random.ts";
import type { FaultKind } from "./fault.ts";
import { lasting, oneOf, shownAs } from "./lasting.ts";
import type { Way, World } from "./world.ts";

/** Promised are five seconds from its return; crash recovery and a busy machine take longer. */
const WITHIN_MS = 60_000;
/** A silent connection is asked after at 15 s, and is lost by 30 s. */
const AFTER_SILENCE_MS = 100_000;

/** A way of one process to Postgres, or those of all. */
const someWays = ({ ways }: World, random: Random) => {
  const drawn = random(ways.length + 1);
  const way = ways[drawn];
  return way === undefined
    ? { ways, what: "all processes" }
    : { ways: [way], what: ["start", "index", "serve"][drawn] ?? "" };
};

const crash = async ({ postgres, marks }: World) => {
  const crashed = marks.mayCrash();
  await postgres.stopImmediately();
  return crashed;
};

const crashedBriefly: FaultKind = {
  name: "Postgres stopped with -m immediate and started again",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const crashed = await crash(world);
    crashed();
    await lasting(random, 0, 3_000);
    return { what: "Postgres", end: world.postgres.start };
  },
};

const crashedForLong: FaultKind = {
  name: "Postgres stopped with -m immediate until health says so",
  isLong: true,
  withinMs: WITHIN_MS,
  strike: async (world) => {
    const crashed = await crash(world);
    crashed();
    const reason = /the database does not answer/;
    await Promise.all([shownAs(world, "start", reason), shownAs(world, "serve", reason)]);
    return { what: "Postgres", end: world.postgres.start };
  },
};

const killedBackend: FaultKind = {
  name: "kill -9 of a Postgres backend",
  withinMs: WITHIN_MS,
  strike: async ({ database, marks }) => {
    const [row] = await database.sql<{ pid: number }[]>`
      select pid from pg_stat_activity where application_name = 'holderbook' order by random() limit 1`;
    const crashed = marks.mayCrash();
    if (row !== undefined) process.kill(row.pid, "SIGKILL");
    // All others end with it: their memory may be damaged.
    await until(
      "Postgres after its restart",
      () =>
        database.sql<{ up: boolean }[]>`
          select pg_postmaster_start_time() < now() as up from pg_stat_activity where pid = ${row?.pid ?? 0}`.then(
          ({ length }) => length,
          () => -1,
        ),
      (backends) => backends === 0,
    );
    return { what: `backend ${row?.pid}`, end: async () => crashed() };
  },
};

const cut: FaultKind = {
  name: "connections to Postgres cut",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { ways, what } = someWays(world, random);
    for (let left = 1 + random(4); left > 0; left -= 1) {
      for (const way of ways) way.break();
      await lasting(random, 50, 800);
      for (const way of ways) way.mend();
      await lasting(random, 50, 500);
    }
    return { what, end: async () => undefined };
  },
};

const delayed: FaultKind = {
  name: "connections to Postgres delayed",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { ways, what } = someWays(world, random);
    const ms = 20 + random(180);
    for (const way of ways) way.delay(ms);
    await lasting(random, 2_000, 5_000);
    return {
      what: `${what}, by ${ms} ms`,
      end: async () => {
        for (const way of ways) way.delay(0);
      },
    };
  },
};

const silent: FaultKind = {
  name: "connections to Postgres in a black hole",
  withinMs: AFTER_SILENCE_MS,
  strike: async (world, random) => {
    const { ways, what } = someWays(world, random);
    for (const way of ways) way.fallSilent();
    await lasting(random, 1_000, 4_000);
    return {
      what,
      end: async () => {
        for (const way of ways) way.speakAgain();
      },
    };
  },
};

/** How Postgres confirms; a batch at the ledger's end is one statement that ends in a row. */
const CONFIRMATIONS = [/COMMIT\0/, /(?:INSERT 0|UPDATE|DELETE) \d+\0/, /SELECT \d+\0/] as const;
const LOST_WITHIN_MS = 10_000;

const unconfirmed: FaultKind = {
  name: "confirmations of Postgres lost",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { ways, what } = someWays(world, random);
    let lost = 0;
    const loseOne = async (way: Way) => {
      const [commit, change, row] = CONFIRMATIONS;
      const answered = way.loseAnswer(oneOf(random, commit, change, row)).then(() => {
        lost += 1;
      });
      // A process may have nothing of that kind to do.
      await Promise.race([answered, delay(LOST_WITHIN_MS / 4)]);
    };
    for (let left = 2 + random(4); left > 0; left -= 1) {
      for (const way of ways) await loseOne(way);
    }
    return { what: `${what}, ${lost} times`, end: async () => undefined };
  },
};

const noDisk = ({ postgres: { disk } }: World) =>
  disk === undefined ? "no small disk can be mounted here" : undefined;

/** A table that is in nobody's way. */
const FILLER = "chaos_filler";

/** Takes the rest of the disk; resolves to how Postgres refused more. */
const fillDisk = async ({ postgres, database }: World): Promise<string> => {
  await database.sql.unsafe(`create table if not exists ${FILLER} (filling text)`);
  await postgres.disk?.shrink();
  const write = () =>
    database.sql
      .unsafe(`insert into ${FILLER} select repeat('x', 2000) from generate_series(1, 2000)`)
      .then(() => "more fits", String);
  return await until("a disk that is full", write, (refusal) => refusal !== "more fits");
};

/** Gives the room back, and starts Postgres where it ended without. */
const makeRoom = async ({ postgres, database }: World) => {
  postgres.disk?.grow();
  const answer = () => database.sql.unsafe(`truncate ${FILLER}`).then(() => "answers", String);
  await until(
    "Postgres, or its end",
    async () => (postgres.isRunning() ? await answer() : "ended"),
    (state) => state === "answers" || state === "ended",
    WITHIN_MS,
  );
  if (!postgres.isRunning()) await postgres.start();
};

const fullDisk = (isSeen: boolean): FaultKind => ({
  name: isSeen ? "a full disk until health says so" : "a full disk",
  isLong: isSeen,
  lacks: noDisk,
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const crashed = world.marks.mayCrash();
    const what = await fillDisk(world);
    if (isSeen) {
      await shownAs(
        world,
        "start",
        /No space left|could not (extend|write)|does not answer|recorded nothing/,
      );
    } else await lasting(random, 1_000, 4_000);
    return {
      what,
      end: async () => {
        await makeRoom(world);
        crashed();
      },
    };
  },
});

const noRedis = ({ redis }: World) =>
  redis === undefined ? "redis-server is not installed" : undefined;

const killedRedis = (isSeen: boolean): FaultKind => ({
  name: isSeen ? "kill -9 of Redis until health says so" : "kill -9 of Redis",
  isLong: isSeen,
  lacks: noRedis,
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    await world.redis?.kill();
    if (isSeen) await shownAs(world, "serve", /Redis \(REDIS_URL\) does not answer/);
    else await lasting(random, 0, 3_000);
    return { what: "Redis", end: async () => world.redis?.start() };
  },
});

const silentRedis: FaultKind = {
  name: "connections to Redis in a black hole",
  lacks: noRedis,
  withinMs: AFTER_SILENCE_MS,
  strike: async ({ redis }, random) => {
    redis?.way.fallSilent();
    await lasting(random, 1_000, 4_000);
    return { what: "Redis", end: async () => redis?.way.speakAgain() };
  },
};

/** Those that may strike whatever else does. */
export const databaseOutages: readonly FaultKind[] = [
  crashedBriefly,
  cut,
  delayed,
  silent,
  unconfirmed,
];

export const databaseKinds: readonly FaultKind[] = [
  ...databaseOutages,
  crashedForLong,
  killedBackend,
  fullDisk(false),
  fullDisk(true),
  killedRedis(false),
  killedRedis(true),
  silentRedis,
];
