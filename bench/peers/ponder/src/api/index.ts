import { Hono } from "hono";

/** Ponder requires one; the bench reads the database. */
export default new Hono();
