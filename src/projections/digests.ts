/**
 * Digests of pipelines: a hash chain over the rows that each checkpoint gave a pipeline. Two deployments
 * whose digests are equal at a checkpoint have the same rows up to it, whatever their batches were.
 */
import { pgTable } from "drizzle-orm/pg-core";
import { bytea, int8 } from "../database/column-types.ts";

/** The digests of one pipeline: `<name>_digests`, one row per checkpoint that gave it rows. */
export const digestTable = <Name extends string>(name: Name) =>
  pgTable(`${name}_digests`, {
    checkpoint: int8("checkpoint").primaryKey(),
    /** 32 bytes. */
    digest: bytea("digest").notNull(),
  });

/** A table of digests, whatever the pipeline. */
export type DigestTable = ReturnType<typeof digestTable>;

export const tokenActivityDigests = digestTable("token_activity");
export const sharedTokenObjectsDigests = digestTable("shared_token_objects");
export const timelockObjectsDigests = digestTable("timelock_objects");
export const holderLifecycleDigests = digestTable("holder_lifecycle");
export const roleChangesDigests = digestTable("role_changes");
