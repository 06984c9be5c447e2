/** An event of a stream: its name, and its data lines joined. */
export type ServerSentEvent = { readonly event: string; readonly data: string };

/**
 * Events out of a response's body, until the connection ends, or nothing at all came for `silentMs`.
 * @throws the signal's reason
 */
export declare const eventsOf: (
  body: ReadableStream<Uint8Array<ArrayBuffer>>,
  limits: { readonly signal?: AbortSignal | undefined; readonly silentMs: number },
) => AsyncGenerator<ServerSentEvent>;
