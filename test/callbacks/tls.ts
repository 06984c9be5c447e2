import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** A self-signed certificate for `receiver.test`, made by openssl; undefined where there is none. */
export const selfSigned = async (): Promise<{ key: string; cert: string } | undefined> => {
  const folder = await mkdtemp(join(tmpdir(), "holderbook-tls-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=receiver.test", "-addext", "subjectAltName=DNS:receiver.test"];
    const curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    const out = ["-keyout", key, "-out", cert, "-days", "2"];
    await run("openssl", ["req", "-x509", ...curve, ...subject, ...out]);
    return { key: await readFile(key, "utf8"), cert: await readFile(cert, "utf8") };
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
};
