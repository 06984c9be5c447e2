/** Parts of one OpenAPI 3.1 document: each interface describes itself. */

type Members = Readonly<Record<string, unknown>>;

/** What an interface adds to the document. Names of schemas and security schemes are unique over all. */
export type ApiDescription = {
  /** Headings, of the interface's operations and webhooks. */
  readonly tags: readonly { readonly name: string; readonly description: string }[];
  readonly paths: Members;
  readonly webhooks?: Members;
  readonly components: {
    readonly schemas: Members;
    readonly securitySchemes: Members;
  };
};

/** One document out of several: `base` says what it is called. */
export const describeTogether = <Base extends ApiDescription>(
  base: Base,
  others: readonly ApiDescription[],
) => ({
  ...base,
  tags: [base, ...others].flatMap(({ tags }) => tags),
  paths: merged(base.paths, ...others.map(({ paths }) => paths)),
  webhooks: merged(base.webhooks, ...others.map(({ webhooks }) => webhooks)),
  components: {
    schemas: merged(base.components.schemas, ...others.map(({ components }) => components.schemas)),
    securitySchemes: merged(
      base.components.securitySchemes,
      ...others.map(({ components }) => components.securitySchemes),
    ),
  },
});

const merged = (...parts: readonly (Members | undefined)[]): Members => Object.assign({}, ...parts);
