/** The sum tree over a cap table (client/sum-tree.ts), with the digests of WebAssembly, ten times as fast. */
import { createSumTree as createTree, type SumTree } from "../../client/sum-tree.ts";
import { blake2b256 } from "../values/blake2b.ts";

const NOTHING = new Uint8Array();

export const createSumTree = (): SumTree => createTree((bytes) => blake2b256(NOTHING, bytes));
