// The documentation of the schema: types one can go through, and a search over all of them.
import { element } from "./editor.mjs";
import { typeName, typeText } from "./schema.mjs";

const MOST_FOUND = 60;

/** Shows a schema in `shown`, what is searched for in `search`. */
export const createDocs = ({ shown, search, schema }) => {
  const link = (type) => {
    const name = typeName(type);
    const go = element("button", { type: "button" }, typeText(type));
    go.addEventListener("click", () => showType(name));
    return go;
  };

  const member = ({ name, type, args = [], description, defaultValue }, of = "") => [
    element(
      "h3",
      {},
      of,
      name,
      ...(type ? [": ", link(type)] : []),
      defaultValue ? ` = ${defaultValue}` : "",
    ),
    ...(description ? [element("p", {}, description)] : []),
    ...args.map((argument) =>
      element(
        "p",
        {},
        `${argument.name}: `,
        link(argument.type),
        argument.description ? ` – ${argument.description}` : "",
      ),
    ),
  ];

  const showType = (name) => {
    search.value = "";
    const { description, fields, inputFields, enumValues } = schema().types.get(name) ?? {};
    const back = element("button", { type: "button" }, "All");
    back.addEventListener("click", showAll);
    shown.replaceChildren(
      back,
      element("h2", {}, name),
      element("p", {}, description ?? ""),
      ...(fields ?? inputFields ?? enumValues ?? []).flatMap((one) => member(one)),
    );
    shown.parentElement.scrollTop = 0;
  };

  const showAll = () => {
    const { roots, types } = schema();
    const others = [...types.keys()].filter((name) => !Object.values(roots).includes(name));
    const listed = (title, names) => [
      element("h2", {}, title),
      ...names.map((name) => element("p", {}, link({ name }))),
    ];
    shown.replaceChildren(
      ...listed("Begin here", Object.values(roots).filter(Boolean)),
      ...listed("Types", others.toSorted()),
    );
  };

  const find = (wanted) => {
    const found = [...schema().types.values()].flatMap((type) =>
      [type, ...(type.fields ?? type.inputFields ?? type.enumValues ?? [])]
        .filter(({ name }) => name.toLowerCase().includes(wanted))
        .flatMap((one) =>
          one === type ? [element("h3", {}, link(type))] : member(one, `${type.name}.`),
        ),
    );
    shown.replaceChildren(
      element("h2", {}, found.length === 0 ? "Nothing has this name" : "Found"),
      ...found.slice(0, MOST_FOUND),
    );
  };

  search.addEventListener("input", () => {
    if (schema() === undefined) return;
    const wanted = search.value.trim().toLowerCase();
    if (wanted === "") showAll();
    else find(wanted);
  });
  return { showAll, say: (text) => shown.replaceChildren(element("p", {}, text)) };
};
