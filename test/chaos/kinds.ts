/** Every kind of fault. A further one is an entry here, or in one of the lists. */
import type { FaultKind } from "./fault.ts";
import { chainKinds } from "./kinds-of-chains.ts";
import { databaseKinds } from "./kinds-of-databases.ts";
import { neighbourKinds } from "./kinds-of-neighbours.ts";
import { processKinds } from "./kinds-of-processes.ts";
import { quarantineKinds } from "./kinds-of-quarantine.ts";
import { replayKinds } from "./kinds-of-replays.ts";
import { sourceKinds } from "./kinds-of-sources.ts";
import { together } from "./kinds-together.ts";

export const KINDS: readonly FaultKind[] = [
  ...processKinds,
  ...databaseKinds,
  ...replayKinds,
  ...quarantineKinds,
  ...sourceKinds,
  ...neighbourKinds,
  ...chainKinds,
  together,
];
