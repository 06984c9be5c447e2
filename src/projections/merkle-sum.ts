/** The cap table's sum tree (client/sum-tree.ts) with WebAssembly hashing, ten times as fast. */
import { createSumTree as createTree, type SumTree } from "../../client/sum-tree.ts";
import { blake2b256 } from "../values/blake2b.ts";

const NOTHING = new Uint8Array();

export const createSumTree = (): SumTree => createTree((bytes) => blake2b256(NOTHING, bytes));
