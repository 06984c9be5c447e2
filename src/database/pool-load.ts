/** Load of a connection pool. */
export type PoolLoad = {
  /** Connections in use. */
  readonly busy: number;
  readonly most: number;
  /** Tasks waiting for one. */
  readonly waiting: number;
};
