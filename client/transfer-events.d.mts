/** A record as interface A lists it; integers beyond 2^53 are `bigint`, others numbers. */
export type TransferEvent = Readonly<Record<string, unknown>> & { readonly id: number | bigint };

export type TransferEvents = {
  /**
   * Records behind `afterId`, or all, in the order of the chain. `follow`: go on with those that come,
   * asking every `pollMs` (5000).
   * @throws BookError
   */
  events(which?: {
    readonly afterId?: number | bigint | undefined;
    readonly txHash?: string | undefined;
    readonly recipient?: string | undefined;
    readonly follow?: boolean | undefined;
    readonly pollMs?: number | undefined;
    readonly signal?: AbortSignal | undefined;
  }): AsyncIterable<TransferEvent>;
};

/** @param service `key`: of the kind `project` */
export declare const createTransferEvents: (service: {
  readonly url: string;
  readonly key: string;
  readonly fetch?: typeof globalThis.fetch | undefined;
}) => TransferEvents;
