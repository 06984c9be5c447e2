/** Bounds memory, in characters; larger than any event of ours. */
const LONGEST = 16 * 1024 * 1024;

/** The name, and the joined data lines. */
type ServerSentEvent = { readonly event: string; readonly data: string };

/**
 * The events of a stream, without keep-alive comments. Ends with the connection or after `silentMs`
 * of silence: a connection whose peer vanished looks open forever.
 * @throws the signal's reason
 */
export async function* eventsOf(
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  { signal, silentMs }: { readonly signal?: AbortSignal | undefined; readonly silentMs: number },
): AsyncGenerator<ServerSentEvent> {
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
    // The connection broke: followers reconnect.
    if (error instanceof TypeError || isReset(error)) return;
    throw error;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

const isReset = (error: unknown) =>
  error instanceof Error && "code" in error && error.code === "ECONNRESET";

const eventOf = (block: string): ServerSentEvent | null => {
  let event = "message";
  const data: string[] = [];
  for (const line of block.split(/\r?\n/)) {
    const at = line.indexOf(":");
    const name = at < 0 ? line : line.slice(0, at);
    const value = at < 0 ? "" : line.slice(at + 1).replace(/^ /, "");
    if (name === "event") event = value;
    if (name === "data") data.push(value);
  }
  return data.length === 0 && event === "message" ? null : { event, data: data.join("\n") };
};
