/** Looks at replicas once, for commands. */
import { setTimeout as delay } from "node:timers/promises";
import type { Sql } from "../session.ts";
import { createLagClock } from "./lag.ts";
import { askPrimary } from "./primary.ts";
import { createReplica } from "./replica.ts";
import type { ReplicaStanding } from "./standing.ts";

type Examined = {
  readonly replicas: readonly string[];
  readonly maxLagMs: number;
  /** Tables that their role has to be able to read. */
  readonly tables: readonly string[];
};

/** After a pause, one transaction makes a replica look old for the moment it takes to get there. */
const LOOKS = 3;
const GAP_MS = 200;

/** @throws the driver's error when the primary does not answer */
export const examineReplicas = async (
  primary: Sql,
  { replicas: urls, maxLagMs, tables }: Examined,
): Promise<readonly ReplicaStanding[]> => {
  if (urls.length === 0) return [];
  const lag = createLagClock(maxLagMs);
  const identity = await askPrimary(primary);
  await using ends = new AsyncDisposableStack();
  const replicas = urls.map((url, index) =>
    ends.use(
      createReplica({
        number: index + 1,
        url,
        readers: { max: 1, applicationName: "holderbook-replica", lockedFirst: tables },
        maxLagMs,
        lag,
        primary: () => identity,
        onPosition: () => undefined,
        onChange: () => undefined,
      }),
    ),
  );
  for (let looks = 1; looks <= LOOKS; looks += 1) {
    if (looks > 1) await delay(GAP_MS);
    const askedMs = performance.now();
    lag.sample((await askPrimary(primary)).lsn, { askedMs, atMs: performance.now() });
    await Promise.all(replicas.map((replica) => replica.look()));
    // Only the second shows that a replica has what the primary lacks.
    if (looks > 1 && replicas.every(({ standing }) => standing.state !== "behind")) break;
  }
  return replicas.map(({ standing }) => standing);
};
