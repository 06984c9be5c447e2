/** Making roles that log in with a password, which the server is never told: it may log what it is told. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

/** A statement that makes such a role, or gives one that is there another password. */
export const loginRole = (verb: "create" | "alter", name: string, password: string): string =>
  `${verb} role "${name.replaceAll('"', '""')}" login password '${verifierOf(password)}'`;

/** As Postgres keeps a password (SCRAM-SHA-256, RFC 5802 and 7677). */
const verifierOf = (password: string): string => {
  const rounds = 4_096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, rounds, 32, "sha256");
  const keyed = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${rounds}:${salt.toString("base64")}$${stored}:${server}`;
};
