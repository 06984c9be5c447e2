/** Replays that exchange all tables of the register while it is read and written. */
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram, startProgram } from "../service/process.ts";
import { isRunning, processesOf } from "../service/processes.ts";
import type { FaultKind } from "./fault.ts";
import { lasting } from "./lasting.ts";
import type { World } from "./world.ts";

/** Processes start, and a replay reads the log from its beginning. */
const WITHIN_MS = 60_000;

const SWAP = ["replay", "--swap", "--share", "1"] as const;

const settingsOf = ({ settings, postgres }: World) => ({
  ...settings,
  DATABASE_URL: postgres.url,
  DATA_DIR: join(tmpdir(), "holderbook-replays"),
});

/** Replays to the end; the rows must be identical, and are served then. */
const swapAll = async (world: World): Promise<void> => {
  const { code, stdout, stderr } = await runProgram([...SWAP], settingsOf(world));
  if (code !== 0) throw new Error(`the replay ended with ${code}: ${stdout}${stderr}`);
};

const killedReplay: FaultKind = {
  name: "kill -9 of a replay with an exchange of tables, and another one",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    await using program = startProgram([...SWAP], settingsOf(world));
    await lasting(random, 300, 4_000);
    for (const { pid } of await processesOf(program.pid)) {
      if (isRunning(pid)) process.kill(pid, "SIGKILL");
    }
    await program.ended;
    const seen = program.printed.stderr.match(/rows are served/g)?.length ?? 0;
    await swapAll(world);
    return { what: `killed after ${seen} exchanges`, end: async () => undefined };
  },
};

const killedBeside: FaultKind = {
  name: "kill -9 of an indexing process during a replay with an exchange of tables",
  withinMs: WITHIN_MS,
  strike: async (world, random) => {
    const { start, index } = world.processes;
    const victim = random(2) === 0 ? start : index;
    const swapped = swapAll(world);
    // Told below, if the kill fails first.
    swapped.catch(() => undefined);
    await lasting(random, 300, 3_000);
    await victim.kill();
    await swapped;
    return { what: victim.name, end: async () => undefined };
  },
};

export const replayKinds: readonly FaultKind[] = [killedReplay, killedBeside];
