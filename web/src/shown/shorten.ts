/** Long ids, short to read. */

/** `0x1234…cdef`; short ones stay whole. */
export const shortened = (text: string, head = 6, tail = 4): string =>
  text.length <= head + tail + 1
    ? text
    : `${text.slice(0, head)}…${tail === 0 ? "" : text.slice(-tail)}`;
