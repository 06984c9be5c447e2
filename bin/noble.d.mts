/** Where the bundle stands. */
export declare const file: string;

/** The bundle's text, of the packages that are installed. */
export declare const bundle: () => Promise<string>;
