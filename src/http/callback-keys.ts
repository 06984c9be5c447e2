/** `GET /api/v1/callback_pk`: the public keys that callbacks are signed with. */
import { z } from "zod";
import { ANY_PARAMETERS, json, type Route, route } from "./route.ts";
import { anyone } from "./who.ts";

export const CALLBACK_KEYS = {
  path: "/api/v1/callback_pk",
  about: "public keys that callbacks are signed with",
} as const;

const time = z.iso.datetime();

const EXAMPLE = {
  publicKey: "1c2lYwQ0S0e8x1l3D8mJc5m3p2yq8o0dY3n1bQv7l2k=",
  algorithm: "ed25519",
  keys: [
    {
      keyId: "cbk_4c1f9a0e7b2d5836",
      publicKey: "1c2lYwQ0S0e8x1l3D8mJc5m3p2yq8o0dY3n1bQv7l2k=",
      notBefore: "2026-11-01T00:00:00.000Z",
      notAfter: null,
    },
  ],
} as const;

export const callbackKeysAnswer = z
  .object({
    publicKey: z.string().describe("The key that signs now; base64 of 32 bytes."),
    algorithm: z.literal("ed25519"),
    keys: z.array(
      z.object({
        keyId: z.string(),
        publicKey: z.string(),
        notBefore: time,
        notAfter: time.nullable(),
      }),
    ),
  })
  .meta({ examples: [EXAMPLE] });

type PublicKeys = Omit<z.infer<typeof callbackKeysAnswer>, "keys"> & {
  readonly keys: readonly z.infer<typeof callbackKeysAnswer>["keys"][number][];
};

/** @param name of the schema; each part that shows the keys needs its own */
export const callbackKeysRoute = (publicKeys: () => Promise<PublicKeys>, name: string): Route =>
  route({
    method: "GET",
    path: CALLBACK_KEYS.path,
    who: anyone(),
    operationId: "callbackKeys",
    summary: "Public keys that callbacks are signed with",
    query: ANY_PARAMETERS,
    answer: json(name, callbackKeysAnswer, "The keys."),
    handle: async () => {
      const { keys, ...signing } = await publicKeys();
      return { ...signing, keys: [...keys] };
    },
  });
