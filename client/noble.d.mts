/** BLAKE2b of @noble/hashes, as `verify-statement.mjs` uses it. */
export declare const blake2b: {
  create(options: { readonly dkLen: number }): {
    update(bytes: Uint8Array): unknown;
    digest(): Uint8Array;
  };
};

/** Ed25519 of @noble/curves, as `verify-statement.mjs` uses it. */
export declare const ed25519: {
  verify(
    signature: Uint8Array,
    message: Uint8Array,
    publicKey: Uint8Array,
    options: { readonly zip215: boolean },
  ): boolean;
};

/** SHA-256 of @noble/hashes: synchronous, for many short texts. */
export declare const sha256: (bytes: Uint8Array) => Uint8Array;
