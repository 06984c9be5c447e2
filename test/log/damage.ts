import type { TestDatabase } from "../postgres.ts";

/** Loses the table of the high-water mark for good. */
export const loseHighWater = ({ sql }: TestDatabase) => sql`drop table log_high_water`;
