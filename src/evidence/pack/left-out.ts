/** Facts that the pack's acts leave out of the register (`quarantine resolve`), each from the rows of one pipeline. */

import type { PackFiles } from "../../../client/pack-files.ts";
import type { ActLine } from "../../../client/pack-forms.ts";
import { jsonLines } from "../../../client/pack-lines.ts";
import { isLeavingOut } from "../../../client/pack-verdict.ts";
import type { Fact } from "../../log/fact.ts";
import { type LeftOut, placeKey, withoutLeftOut } from "../../projections/left-out-facts.ts";
import { FILES } from "./form.ts";

export const actsIn = async (pack: PackFiles): Promise<readonly ActLine[]> => {
  const acts: ActLine[] = [];
  for await (const act of jsonLines(pack, FILES.acts)) acts.push(act);
  return acts;
};

/** By pipeline. */
export type LeftOutOfPack = ReadonlyMap<string, LeftOut>;

/** @param coinType of the pack, whose acts these are */
export const leftOutBy = (coinType: string, acts: readonly ActLine[]): LeftOutOfPack => {
  const places = acts.filter(isLeavingOut).map(({ details }) => ({
    pipeline: `${details.pipeline}`,
    place: `${coinType} ${details.checkpoint} ${details.transaction} ${details.kind} ${details.index} ${details.digest}`,
  }));
  return new Map(
    [...Map.groupBy(places, ({ pipeline }) => pipeline)].map(([pipeline, own]) => [
      pipeline,
      new Set(own.map(({ place }) => place)),
    ]),
  );
};

/** Facts for the rows of a pipeline. */
export const factsFor = (
  facts: readonly Fact[],
  { name, facts: names }: { readonly name: string; readonly facts: readonly string[] },
  leftOut: LeftOutOfPack,
): readonly Fact[] => {
  const own = facts.filter((fact) => names.includes(fact.name));
  const places = leftOut.get(name);
  return places === undefined ? own : withoutLeftOut(own, places);
};

/** Whether any pipeline's rows lack the fact. */
export const isLeftOut = (fact: Fact, leftOut: LeftOutOfPack): boolean =>
  leftOut.size > 0 && [...leftOut.values()].some((places) => places.has(placeKey(fact)));
