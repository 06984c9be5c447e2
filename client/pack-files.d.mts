/** The files of a pack, by path below its folder. */
export type PackFiles = ReadonlyMap<string, Blob>;

/** The whole text of a small file. @throws AuditPackError */
export declare const textOf: (pack: PackFiles, path: string, most: number) => Promise<string>;

/** Lines of a file, none longer than `most` characters. @throws AuditPackError */
export declare const linesOf: (
  pack: PackFiles,
  path: string,
  most: number,
) => AsyncGenerator<string, void>;

/** What the deployment's key signs: as RFC 8785 JSON. */
export declare const signedPack: (
  manifestSha256: string,
  version?: number,
) => { readonly purpose: string; readonly manifestSha256: string };
