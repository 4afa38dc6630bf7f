import { readFile, writeFile } from 'node:fs/promises';
import { tableOf } from '#bench/page/text-table';
import { wrapped } from '#deploy/documents/wrapped-text';

/** Effect of the engine on an agent, a section for each run with one or more models. */
const PAGE = {
  file: 'docs/fidelity.md',
  head: `# Does the engine help an agent?

Use this page to see how a contract in the prompt changes the behavior of a language model. Each dialogue runs in three
arms with the same user, tools, tool results and seed. The arms differ in the end of the model's instructions:

| Arm | End of the instructions |
|---|---|
| without | nothing |
| engine | the contract of the agent's instance |
| shuffled | the contract of an instance of another persona, after the same turns |

In every arm, an instance of the persona observes the dialogue, and the benchmark checks each turn against the contract
of this instance. All arms describe the persona to the model. Differences are paired by persona and seed; brackets are
95 % intervals of a bootstrap.

To run a real model:

\`\`\`sh
OPENAI_API_KEY=… make fidelity ARGS="--model NAME --judge-model OTHER --judge-model THIRD --concurrency 8"
\`\`\`

\`OPENAI_BASE_URL\` selects another OpenAI-compatible endpoint. By default, a run has 4 personas, 3 kinds of work, 3
seeds, 3 arms and 120 turns. These are 12,960 calls of the model with about 90 million prompt tokens. \`--personas\`,
\`--seeds\`, \`--repeats\` and \`--turns\` change the size. With \`--mode refuse\`, forbidden calls do not run.

Judges use the published rubrics of PersonaGym (arXiv 2407.18416) and the three consistencies of arXiv 2511.00222. git
fetches both at pinned commits. Choose two judges of other families than the tested model. The page does not compare
judges with people: before you rely on a judge, label some of the dialogues in \`.cache/fidelity\`.`,
};

/** Text above the tables of a section. */
type Heading = {
  readonly title: string;
  /** Compared variants and method. */
  readonly about: string;
  /** Command that measures the section again. */
  readonly command: string;
  readonly circumstances: readonly { readonly name: string; readonly value: string }[];
};

/** A section in Markdown: heading, method, circumstances of the run, tables. */
export function reportSection(
  { title, about, command, circumstances }: Heading,
  tables: readonly string[],
): string {
  return [`## ${title}`, about, runFacts(command, circumstances), ...tables].join('\n\n');
}

/** Replaces the section with the same heading on the page, or appends the section. */
export async function keepSection(section: string): Promise<void> {
  const { file, head } = PAGE;
  const page = await readFile(file, 'utf8').catch(() => '');
  const sections = page.split(/^(?=## )/m).slice(1);
  const index = sections.findIndex((other) => headingOf(other) === headingOf(section));
  if (index < 0) sections.push(section);
  else sections[index] = section;
  const parts = [head, ...sections].map((part) => wrapped(part.trim()));
  await writeFile(file, `${parts.join('\n\n')}\n`);
}

function headingOf(section: string): string {
  return section.split('\n', 1)[0] ?? '';
}

/** A table with the command and circumstances of a run. */
function runFacts(
  command: string,
  circumstances: readonly { readonly name: string; readonly value: string }[],
): string {
  const facts = circumstances.map(({ name, value }) => [name, value]);
  return tableOf(['', ''], [['Command', `\`${command}\``], ...facts]);
}
