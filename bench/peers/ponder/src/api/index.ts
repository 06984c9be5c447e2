import { Hono } from "hono";

/** Ponder wants one; the bench looks into the database. */
export default new Hono();
