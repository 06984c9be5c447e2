export declare const PACK_FORMAT: "holderbook-audit-pack";
