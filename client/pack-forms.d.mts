export declare const PACK_FORMAT: "holderbook-audit-pack";

/** What is wrong with the JSON of a line of a file of a pack; nothing where it has its form. */
export declare const lineFaults: (path: string, json: unknown) => readonly string[];

/** The same of the JSON of a manifest, of `committee.json`, and of the head and a row of a register. */
export declare const manifestFaults: (json: unknown) => readonly string[];
export declare const committeeFaults: (json: unknown) => readonly string[];
export declare const tableHeadFaults: (json: unknown) => readonly string[];
export declare const rowFaults: (json: unknown) => readonly string[];
