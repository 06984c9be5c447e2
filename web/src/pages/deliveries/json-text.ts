/** JSON as text, with exact integers. */

/** Indented JSON; integers beyond 2^53 are given as bigint. */
export const jsonText = (value: unknown, indent = ""): string => {
  if (typeof value === "bigint") return `${value}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const inner = `${indent}  `;
  const [open, close] = Array.isArray(value) ? ["[", "]"] : ["{", "}"];
  const parts = Array.isArray(value)
    ? value.map((each) => `${inner}${jsonText(each, inner)}`)
    : Object.entries(value).map(
        ([name, each]) => `${inner}${JSON.stringify(name)}: ${jsonText(each, inner)}`,
      );
  return parts.length === 0
    ? `${open}${close}`
    : `${open}\n${parts.join(",\n")}\n${indent}${close}`;
};
