/** Texts that many records share, cached as bytes. */

/** Cache bounds per kind (texts have about half a kilobyte); others are printed each time. */
const MOST_KEPT = 1_000;
const MOST_KEPT_BYTES = 1024 * 1024;

export const printedOnce = <Id extends number | string | null>(print: (id: Id) => string) => {
  const known = new Map<Id, Buffer>();
  let keptBytes = 0;
  return (id: Id): Buffer => {
    const found = known.get(id);
    if (found !== undefined) return found;
    const printed = bytesOf(print(id));
    if (known.size < MOST_KEPT && keptBytes + printed.length <= MOST_KEPT_BYTES) {
      known.set(id, printed);
      keptBytes += printed.length;
    }
    return printed;
  };
};

/** Unpooled: a slice of Node's buffer pool would retain all of it. */
const bytesOf = (text: string): Buffer => {
  const bytes = Buffer.allocUnsafeSlow(Buffer.byteLength(text));
  bytes.write(text);
  return bytes;
};
