/** A roaring bitmap without runs: its first four bytes, little-endian. */
const COOKIE = 12346;
/** Cookie, count of containers; of the only one: key, cardinality less one, offset. */
const HEADER_BYTES = 4 + 4 + 2 + 2 + 4;
/** A container with more numbers than this is stored in another form. */
const MOST_IN_ARRAY = 4096;

/**
 * The numbers in a roaring bitmap, ascending, in the one form in which a validator writes places in a
 * committee (portable format, one array container); null for any other bytes, so that a set has one
 * encoding only.
 * @param below every number is smaller than this, which is at most 4096
 */
export const readBitmap = (bytes: Uint8Array, below: number): readonly number[] | null => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (bytes.length < 8 || view.getUint32(0, true) !== COOKIE) return null;
  const containers = view.getUint32(4, true);
  if (containers === 0) return bytes.length === 8 ? [] : null;
  if (containers !== 1 || bytes.length < HEADER_BYTES || view.getUint16(8, true) !== 0) return null;
  const count = view.getUint16(10, true) + 1;
  if (count > Math.min(below, MOST_IN_ARRAY) || view.getUint32(12, true) !== HEADER_BYTES)
    return null;
  if (bytes.length !== HEADER_BYTES + 2 * count) return null;
  const places: number[] = [];
  for (let at = HEADER_BYTES; at < bytes.length; at += 2) {
    const place = view.getUint16(at, true);
    if (place >= below || place <= (places.at(-1) ?? -1)) return null;
    places.push(place);
  }
  return places;
};
