export declare const file: string;

/** The bundle's text, from the installed packages. */
export declare const bundle: () => Promise<string>;
