/** How full a pool of connections is. */
export type PoolLoad = {
  /** Connections that are in use now. */
  readonly busy: number;
  readonly most: number;
  /** What waits for one. */
  readonly waiting: number;
};
