/** Creates login roles without sending the password, which the server may log. */
import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";

/** A statement that creates the role, or changes its password. */
export const loginRole = (verb: "create" | "alter", name: string, password: string): string =>
  `${verb} role "${name.replaceAll('"', '""')}" login password '${verifierOf(password)}'`;

/** SCRAM-SHA-256 verifier as Postgres stores it (RFC 5802, 7677). */
const verifierOf = (password: string): string => {
  const rounds = 4_096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password, salt, rounds, 32, "sha256");
  const keyed = (name: string) => createHmac("sha256", salted).update(name).digest();
  const stored = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const server = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${rounds}:${salt.toString("base64")}$${stored}:${server}`;
};
