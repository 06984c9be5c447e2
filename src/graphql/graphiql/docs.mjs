// The documentation of the schema: all types with their members, links between them, and a search.
import { element } from "./editor.mjs";
import { typeName, typeText } from "./language.mjs";

/** Shows a schema in `shown`, filtered by what is typed into `search`. */
export const showDocs = ({ shown, search, schema }) => {
  const entries = new Map();

  const filter = () => {
    const wanted = search.value.trim().toLowerCase();
    for (const [name, entry] of entries) {
      const isWhole = name.toLowerCase().includes(wanted);
      const members = [...entry.querySelectorAll("div")];
      for (const member of members) member.hidden = !isWhole && !member.title.includes(wanted);
      entry.hidden = !isWhole && members.every(({ hidden }) => hidden);
      entry.open = wanted !== "" && !entry.hidden;
    }
  };

  const link = (type) => {
    const button = element("button", { type: "button" }, typeText(type));
    button.addEventListener("click", () => {
      const entry = entries.get(typeName(type));
      search.value = "";
      filter();
      entry.open = true;
      entry.scrollIntoView();
    });
    return button;
  };

  const typed = (name, { type, defaultValue }) => [
    name,
    ...(type ? [": ", link(type)] : []),
    defaultValue ? ` = ${defaultValue}` : "",
  ];
  const member = (of, one) =>
    element(
      "div",
      { title: one.name.toLowerCase() },
      element("h3", {}, ...typed(`${of}.${one.name}`, one)),
      element("p", {}, one.description ?? ""),
      ...(one.args ?? []).map((argument) =>
        element("p", {}, ...typed(argument.name, argument), ` – ${argument.description ?? ""}`),
      ),
    );

  for (const { name, description, fields, inputFields, enumValues } of schema.types.values()) {
    const members = fields ?? inputFields ?? enumValues ?? [];
    entries.set(
      name,
      element(
        "details",
        {},
        element("summary", {}, name),
        element("p", {}, description ?? ""),
        ...members.map((one) => member(name, one)),
      ),
    );
  }
  const roots = Object.values(schema.roots).filter((name) => entries.has(name));
  const others = [...entries.keys()].filter((name) => !roots.includes(name)).toSorted();
  shown.replaceChildren(...[...roots, ...others].map((name) => entries.get(name)));
  search.addEventListener("input", filter);
};
