/** Reads once, when it is first asked for. */
export const once = <Value>(read: () => Promise<Value>): (() => Promise<Value>) => {
  let value: Promise<Value> | undefined;
  return () => {
    value ??= read();
    return value;
  };
};
