/** Table entries and other dynamic fields: objects owned by their parent object. */
import type { Execution } from "../chain/execution.ts";
import { FRAMEWORK, fieldId } from "../chain/ids.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import { address, u64 } from "./layouts.ts";
import { type RunningCall, treasuryOf, writeTreasury } from "./securities.ts";

/** A BCS value and its type. */
export type Typed = { readonly type: string; readonly bytes: Uint8Array };

export const typedAddress = (text: string): Typed => ({ type: "address", bytes: address(text) });
export const typedU64 = (value: bigint): Typed => ({ type: "u64", bytes: u64(value) });

/** Creates or replaces a field; true when created. */
export const setField = (
  execution: Execution,
  parent: string,
  name: Typed,
  value: Typed,
): boolean => {
  const id = fieldId(parent, name.type, name.bytes);
  const contents = new ByteWriter().address(id).raw(name.bytes).raw(value.bytes).done();
  if (execution.exists(id)) {
    execution.write(id, contents);
    return false;
  }
  execution.create(id, {
    type: `${FRAMEWORK}::dynamic_field::Field<${name.type},${value.type}>`,
    contents,
    owner: { kind: "object", address: parent },
  });
  return true;
};

export const removeField = (execution: Execution, parent: string, name: Typed): void =>
  execution.remove(fieldId(parent, name.type, name.bytes));

type TableName = "roles" | "wallets" | "groups" | "holders";

/** Creates, replaces or (null) removes an entry of a table of the treasury. */
export const setEntry = (
  call: RunningCall,
  table: TableName,
  name: Typed,
  value: Typed | null,
): void => {
  const treasury = treasuryOf(call.state, call.coinType);
  const { id, size } = treasury[table];
  let change = 0n;
  if (value === null) {
    removeField(call.execution, id, name);
    change = -1n;
  } else if (setField(call.execution, id, name, value)) change = 1n;
  writeTreasury(call, { ...treasury, [table]: { id, size: size + change } });
};
