/** Reads on the first call, whose arguments count; later calls share the value. */
export const once = <Args extends readonly unknown[], Value>(
  read: (...args: Args) => Promise<Value>,
): ((...args: Args) => Promise<Value>) => {
  let value: Promise<Value> | undefined;
  return (...args) => {
    value ??= read(...args);
    return value;
  };
};
