/** A value made from another one, and made again when that one is replaced by another object. */
export const derived = <From extends object, To>(
  from: () => From,
  make: (from: From) => To,
): (() => To) => {
  let last: { readonly from: From; readonly to: To } | undefined;
  return () => {
    const now = from();
    if (last?.from !== now) last = { from: now, to: make(now) };
    return last.to;
  };
};
