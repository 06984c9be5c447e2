/** First four bytes, little-endian, of a roaring bitmap without runs. */
const COOKIE = 12346;
/** Cookie and container count; then key, cardinality less one, offset. */
const HEADER_BYTES = 4 + 4 + 2 + 2 + 4;
/** Larger containers have another form. */
const MOST_IN_ARRAY = 4096;

/**
 * Numbers of a roaring bitmap, ascending, in the only form validators write (portable format, one
 * array container); null for other bytes, so each set has one encoding. @param below exclusive
 * limit of the numbers, at most 4096
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
