export declare const PACK_FORMAT: "holderbook-audit-pack";

/** What is wrong with the JSON of a line of a file of a pack; nothing where it has its form. */
export declare const lineFaults: (path: string, json: unknown) => readonly string[];
