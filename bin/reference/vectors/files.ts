/** All test vector files, and each kind's judge. */
import { chainVectors, judgeBlocks, judgeFacts, judgeInputs, judgePosition } from "./chains.ts";
import { excerptVectors, judgeExcerpt, judgeSignature } from "./excerpts.ts";
import { judgePack, packVectors } from "./packs.ts";
import { judgeRegister, judgeUnlocked, registerVectors } from "./registers.ts";
import { judgeAct, judgeHead, judgeKeys, judgeSequence, sequenceVectors } from "./sequences.ts";
import { judgeStatement, statementVectors } from "./statements.ts";
import { judgeLeaf, judgeNode, judgeRoot, tableVectors } from "./tables.ts";
import type { Judge } from "./vector.ts";

/** By the vectors' member name in a file. */
export const JUDGES: Readonly<Record<string, Judge>> = {
  statement: judgeStatement,
  leaf: judgeLeaf,
  node: judgeNode,
  root: judgeRoot,
  sequence: judgeSequence,
  keys: judgeKeys,
  act: judgeAct,
  head: judgeHead,
  facts: judgeFacts,
  inputs: judgeInputs,
  blocks: judgeBlocks,
  position: judgePosition,
  excerpt: judgeExcerpt,
  signature: judgeSignature,
  register: judgeRegister,
  unlocked: judgeUnlocked,
  pack: judgePack,
};

export const vectorFiles = async (): Promise<readonly (readonly [string, string])[]> => [
  ["docs/reference/vectors/cap-table.json", await tableVectors()],
  ["docs/reference/vectors/chain.json", await chainVectors()],
  ["docs/reference/vectors/excerpt.json", await excerptVectors()],
  ["docs/reference/vectors/pack.json", await packVectors()],
  ["docs/reference/vectors/register.json", await registerVectors()],
  ["docs/reference/vectors/sequence.json", await sequenceVectors()],
  ["docs/reference/vectors/statement.json", await statementVectors()],
];
