/** Server-sent events out of a response's body. */

/** More than any event of ours: a server that sends no end of one is not believed. */
const LONGEST = 16 * 1024 * 1024;

/**
 * Each event with its name and data; comments, which keep the connection open, are left out. Ends with the
 * connection, or when nothing at all came for `silentMs`: a connection whose other end is gone, without
 * a word, looks open for ever.
 */
export async function* eventsOf(body, { signal, silentMs }) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  const silence = () => reader.cancel().catch(() => undefined);
  let text = "";
  try {
    for (;;) {
      const timer = setTimeout(silence, silentMs);
      const { value, done } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      text += value;
      if (text.length > LONGEST) throw new Error("an event of more than 16 MiB");
      for (;;) {
        const end = /\r?\n\r?\n/.exec(text);
        if (end === null) break;
        const event = eventOf(text.slice(0, end.index));
        text = text.slice(end.index + end[0].length);
        if (event !== null) yield event;
      }
    }
  } catch (error) {
    signal?.throwIfAborted();
    // A connection that breaks is one that ended: whoever follows connects again.
    if (error instanceof TypeError || error?.code === "ECONNRESET") return;
    throw error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const eventOf = (block) => {
  let event = "message";
  const data = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length === 0 && event === "message" ? null : { event, data: data.join("\n") };
};
