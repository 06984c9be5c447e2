/**
 * Where a source is, and no more: scheme and host. Paths, queries and users of a URL may hold a
 * provider's key, and what is said of a source reaches `/health`, which asks for none.
 */

/** A URL inside a text: its scheme, its host with the port, and the rest up to the next space or bracket. */
const ADDRESS =
  /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#"'<>]*@)?([^\s/?#"'<>]*[^\s/?#"'<>:.,;)])[^\s"'<>]*?(?=[:.,;)]*(?:[\s"'<>]|$))/gi;

/** A text with every URL in it cut to its scheme and host. */
export const onlyPlaces = (text: string): string => text.replace(ADDRESS, "$1$2");

/**
 * The place of a source, by its description: `https://host:port`; of what has no host its kind alone,
 * such as `dir:`.
 */
export const placeOf = (description: string): string => {
  const [kind = "", rest] = description.split(/(?<=^[a-z]+:)/);
  return description.includes("://")
    ? onlyPlaces(description)
    : rest === undefined
      ? description
      : kind;
};
