// A small external signer that holds the deployment's key. Run it, read it, replace it:
//   node deployment-signer.mjs make key.pem            creates a key, prints its public key in base64
//   node deployment-signer.mjs serve key.pem [port]    POST { payload } is answered with { signature }, both base64
// If SIGNER_TOKEN is set, requests need it as a bearer token. Each signature is logged as a line on standard output.
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  sign,
  timingSafeEqual,
} from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [command, file, port = "4100"] = process.argv.slice(2);
const LONGEST = 1024 * 1024;

const publicKeyOf = (key) =>
  Buffer.from(createPublicKey(key).export({ format: "jwk" }).x, "base64url").toString("base64");

const sha256 = (text) => createHash("sha256").update(text).digest();

const isAllowed = ({ authorization = "" }) => {
  const token = process.env.SIGNER_TOKEN;
  return !token || timingSafeEqual(sha256(authorization), sha256(`Bearer ${token}`));
};

const bodyOf = async (request) => {
  const chunks = [];
  let bytes = 0;
  for await (const chunk of request) {
    bytes += chunk.length;
    if (bytes > LONGEST) return null;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
};

// Holderbook requests signatures over JSON with a purpose. Refuse anything else, so that the key is useless elsewhere.
const payloadIn = (text) => {
  try {
    const bytes = Buffer.from(JSON.parse(text).payload, "base64");
    const { purpose, number } = JSON.parse(bytes.toString());
    return /^holderbook-[a-z0-9-]+$/.test(purpose) ? { bytes, purpose, number } : null;
  } catch {
    return null;
  }
};

const answer = async (request) => {
  if (request.method !== "POST") return [405, { error: "signatures are asked for by POST" }];
  if (!isAllowed(request.headers)) return [401, { error: "the token is missing or wrong" }];
  const payload = payloadIn((await bodyOf(request)) ?? "");
  if (payload === null) return [400, { error: "payload must be base64 of what Holderbook signs" }];
  let key;
  try {
    key = createPrivateKey(readFileSync(file));
  } catch {
    return [503, { error: "the key cannot be read now" }];
  }
  const { bytes, purpose, number = null } = payload;
  const line = { at: new Date(), purpose, number, sha256: sha256(bytes).toString("hex") };
  console.log(JSON.stringify(line));
  return [200, { signature: sign(null, bytes, key).toString("base64") }];
};

if (command === "make" && file) {
  const { privateKey } = generateKeyPairSync("ed25519");
  const pem = privateKey.export({ format: "pem", type: "pkcs8" });
  writeFileSync(file, pem, { mode: 0o600, flag: "wx" });
  console.log(publicKeyOf(privateKey));
} else if (command === "serve" && file) {
  const server = createServer(async (request, response) => {
    const [status, body] = await answer(request).catch(() => [500, { error: "it failed" }]);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(Number(port), "127.0.0.1", () =>
    console.log(JSON.stringify({ listening: `http://127.0.0.1:${server.address().port}/` })),
  );
} else {
  console.error("node deployment-signer.mjs make FILE | serve FILE [PORT]");
  process.exitCode = 2;
}
