/** Table entries and other dynamic fields: objects owned by their parent object. */
import type { Execution } from "../chain/execution.ts";
import { FRAMEWORK, fieldId } from "../chain/ids.ts";
import { ByteWriter } from "../wire/byte-writer.ts";
import type { Table } from "./layouts.ts";

/** Parent and name of a dynamic field. */
export type FieldName = {
  readonly parent: string;
  readonly nameType: string;
  readonly name: Uint8Array;
};

/** Creates or replaces a field; true when created. */
export const setField = (
  execution: Execution,
  field: FieldName,
  value: { readonly type: string; readonly bytes: Uint8Array },
): boolean => {
  const id = fieldId(field.parent, field.nameType, field.name);
  const contents = new ByteWriter().address(id).raw(field.name).raw(value.bytes).done();
  if (execution.exists(id)) {
    execution.write(id, contents);
    return false;
  }
  execution.create(id, {
    type: `${FRAMEWORK}::dynamic_field::Field<${field.nameType},${value.type}>`,
    contents,
    owner: { kind: "object", address: field.parent },
  });
  return true;
};

export const removeField = (execution: Execution, field: FieldName): void =>
  execution.remove(fieldId(field.parent, field.nameType, field.name));

export const grown = (table: Table, by: bigint): Table => ({ ...table, size: table.size + by });
