/** Keys that seal personal data: one seals, the others still open what it has not resealed yet. */

export type SealingKey = {
  readonly id: string;
  /** 32 bytes. */
  readonly key: Uint8Array;
};

export type KeyRing = {
  /** Seals new data. */
  readonly current: SealingKey;
  /** The current key first. */
  readonly all: readonly SealingKey[];
  /** Key of this name, to open data; undefined when not configured. */
  find(id: string): SealingKey | undefined;
};
