/** `/health` is asked every two seconds; the subscription tells in between. */
import type { HealthSeen } from "../../data/health.ts";
import type { PipelineStatus } from "../../data/live.ts";
import { mostOf } from "../../shown/amount.ts";

type Told = Pick<PipelineStatus, "pipeline" | "checkpoint">;

/**
 * What `/health` said, brought up to what was told since: a pipeline is never beyond the log, nor the log
 * beyond the chain's end. What neither of them knows stays null.
 */
export const broughtUp = (health: HealthSeen, told: readonly Told[] | null): HealthSeen => {
  const { reader } = health;
  const pipelines = health.pipelines.map((part) => {
    const newer = told?.find(({ pipeline }) => pipeline === part.name)?.checkpoint;
    const both = [newer, part.checkpoint].filter((one) => one != null).map(BigInt);
    return { ...part, checkpoint: both.length === 0 ? null : String(mostOf(both)) };
  });
  const known = [reader.checkpoint, ...pipelines.map(({ checkpoint }) => checkpoint)];
  const reached = known.filter((one) => one !== null).map(BigInt);
  const checkpoint = reached.length === 0 ? null : mostOf(reached);
  const tip = reader.tip === null ? null : mostOf([BigInt(reader.tip), ...reached]);
  return {
    ...health,
    pipelines,
    reader: { ...reader, checkpoint: asText(checkpoint), tip: asText(tip) },
  };
};

const asText = (checkpoint: bigint | null): string | null =>
  checkpoint === null ? null : String(checkpoint);
