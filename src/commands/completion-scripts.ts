/**
 * Completion for three shells, written from the tree of commands. A script is a table and a few lines that
 * look into it: it does not run the program, which would take a third of a second at each press of the key.
 */
import type { TreeCommand, TreeOption } from "./command-tree.ts";

/** What can follow a command, by the command as it is typed: `keys create`; empty for the program itself. */
type Place = {
  readonly path: string;
  /** Commands, options and what arguments may be, with what they are for. */
  readonly words: readonly { readonly word: string; readonly about: string }[];
  /** Options that a value follows, with what it may be; empty: a file's name is offered. */
  readonly values: readonly { readonly option: string; readonly choices: readonly string[] }[];
};

/** The script, to be put where the shell looks for completions of `holderbook`. */
export const completionScript = (
  shell: "bash" | "zsh" | "fish",
  tree: readonly TreeCommand[],
): string => {
  const places = placesOf({
    path: "",
    name: "",
    options: PROGRAM,
    commands: [...tree, help(tree)],
  });
  return SCRIPTS[shell](places);
};

/** Of the program itself. */
const PROGRAM: readonly TreeOption[] = [["--version", "-V", "print the version"] as const].map(
  ([long, short, about]) => ({
    names: [short, long],
    flags: `${short}, ${long}`,
    about,
    takesValue: false,
    choices: [],
    mandatory: false,
    defaultValue: null,
  }),
);

const help = (tree: readonly TreeCommand[]): TreeCommand => ({
  name: "help",
  about: "how a command goes",
  options: [],
  arguments: [
    {
      name: "command",
      about: "",
      required: false,
      variadic: false,
      choices: tree.map(({ name }) => name),
    },
  ],
  commands: [],
});

const placesOf = ({
  path,
  options,
  commands,
  arguments: given = [],
}: Pick<TreeCommand, "name" | "options" | "commands"> & {
  readonly path: string;
  readonly arguments?: TreeCommand["arguments"];
}): readonly Place[] => [
  {
    path,
    words: [
      ...commands.map(({ name, about }) => ({ word: name, about })),
      ...given.flatMap(({ choices, about }) => choices.map((word) => ({ word, about }))),
      ...options.flatMap(({ names, about }) => names.map((word) => ({ word, about }))),
      { word: "--help", about: "how it goes" },
    ],
    values: options.flatMap(({ names, takesValue, choices }) =>
      takesValue ? names.map((option) => ({ option, choices })) : [],
    ),
  },
  ...commands.flatMap((command) =>
    placesOf({ ...command, path: path === "" ? command.name : `${path} ${command.name}` }),
  ),
];

/** For single quotes of a POSIX shell. */
const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

const firstSentence = (about: string): string => (about.split(/[;:.] |\n/)[0] ?? "").slice(0, 80);

/** What bash and zsh share: a `case` of the words after each command, and of the values of its options. */
const cases = (places: readonly Place[], wordsOf: (place: Place) => string): string =>
  places.map((place) => `    ${quoted(place.path)}) ${wordsOf(place)} ;;`).join("\n");

const valueCases = (places: readonly Place[]): string =>
  places
    .flatMap(({ path, values }) =>
      values.map(
        ({ option, choices }) =>
          `    ${quoted(`${path} ${option}`)}) values=${quoted(choices.join(" "))}; takes=1 ;;`,
      ),
    )
    .join("\n");

/** Which of the words before the cursor are commands. */
const pathLoop = (places: readonly Place[]): string => {
  const paths = places.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join("|");
  return `case "\${path:+$path }$word" in ${paths}) path="\${path:+$path }$word" ;; esac`;
};

const bash = (places: readonly Place[]): string => `# Completion of holderbook for bash.
_holderbook() {
  local path='' word words='' values='' takes='' i
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="\${COMP_WORDS[i]}"
    ${pathLoop(places)}
  done
  case "$path $previous" in
${valueCases(places)}
  esac
  COMPREPLY=()
  if [ -n "$takes" ]; then
    if [ -n "$values" ]; then
      mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
    else
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
    return
  fi
  case "$path" in
${cases(places, ({ words }) => `words=${quoted(words.map(({ word }) => word).join(" "))}`)}
  esac
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")
  if [ "\${#COMPREPLY[@]}" -eq 0 ]; then
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -o filenames -F _holderbook holderbook
`;

const zsh = (places: readonly Place[]): string => `#compdef holderbook
# Completion of holderbook for zsh.
_holderbook() {
  local path_='' word values='' takes='' i
  local -a found
  for ((i = 2; i < CURRENT; i++)); do
    word="\${words[i]}"
    ${pathLoop(places).replaceAll("path", "path_")}
  done
  case "$path_ \${words[CURRENT-1]}" in
${valueCases(places)}
  esac
  if [ -n "$takes" ]; then
    if [ -n "$values" ]; then compadd -- \${=values}; else _files; fi
    return
  fi
  case "$path_" in
${cases(
  places,
  ({ words }) =>
    `found=(${words.map(({ word, about }) => quoted(`${word.replaceAll(":", "\\:")}:${firstSentence(about)}`)).join(" ")})`,
)}
  esac
  _describe 'holderbook' found || _files
}
if [ "$funcstack[1]" = "_holderbook" ]; then _holderbook "$@"; else compdef _holderbook holderbook; fi
`;

const fish = (places: readonly Place[]): string =>
  [
    "# Completion of holderbook for fish.",
    "function __holderbook_at",
    "  set -l path",
    "  for word in (commandline -opc)[2..]",
    '    contains -- (string join -- " " $path $word) $__holderbook_paths; and set -a path $word',
    "  end",
    '  test "$path" = "$argv"',
    "end",
    `set -g __holderbook_paths ${places.flatMap(({ path }) => (path === "" ? [] : [quoted(path)])).join(" ")}`,
    ...places.flatMap(({ path, words, values }) => {
      const at = `complete -c holderbook -n ${quoted(`__holderbook_at ${path}`.trim())}`;
      return words.map(({ word, about }) => {
        const value = values.find(({ option }) => option === word);
        const said = `-d ${quoted(firstSentence(about))}`;
        if (!word.startsWith("-")) return `${at} -f -a ${quoted(word)} ${said}`;
        const name = word.startsWith("--") ? `-l ${word.slice(2)}` : `-s ${word.slice(1)}`;
        if (value === undefined) return `${at} ${name} ${said}`;
        const takes = value.choices.length > 0 ? `-x -a ${quoted(value.choices.join(" "))}` : "-r";
        return `${at} ${name} ${takes} ${said}`;
      });
    }),
    "",
  ].join("\n");

const SCRIPTS = { bash, zsh, fish };
