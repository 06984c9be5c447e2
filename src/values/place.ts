/** Reduces URLs to scheme and host: `/health` is public, and the rest may hold a provider's key. */

/** A URL in a text: scheme, host with port, and the rest up to a space or bracket. */
const ADDRESS =
  /\b([a-z][a-z0-9+.-]*:\/\/)(?:[^\s/?#"'<>]*@)?([^\s/?#"'<>]*[^\s/?#"'<>:.,;)])[^\s"'<>]*?(?=[:.,;)]*(?:[\s"'<>]|$))/gi;

export const onlyPlaces = (text: string): string => text.replace(ADDRESS, "$1$2");

/** `https://host:port` of a source; only its kind, such as `dir:`, when it has no host. */
export const placeOf = (description: string): string => {
  const [kind = "", rest] = description.split(/(?<=^[a-z]+:)/);
  return description.includes("://")
    ? onlyPlaces(description)
    : rest === undefined
      ? description
      : kind;
};
