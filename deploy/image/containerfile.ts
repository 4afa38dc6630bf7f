/** An instruction: keyword, and rest of the line. */
type Instruction = { readonly word: string; readonly rest: string };

/** A build stage: FROM and the instructions that follow. */
export type Stage = {
  readonly base: string;
  /** Empty for a stage without a name. */
  readonly name: string;
  readonly instructions: readonly Instruction[];
};

/** The stages of a Containerfile, in order. The last stage is the image. */
export function stagesOf(containerfile: string): readonly Stage[] {
  const stages: { base: string; name: string; instructions: Instruction[] }[] = [];
  for (const line of containerfile.split('\n')) {
    const [, word, rest] = /^([A-Z]+) +(.+?) *$/.exec(line) ?? [];
    if (word === undefined || rest === undefined) continue;
    if (word === 'FROM') {
      const [base = '', , name = ''] = rest.split(/ +/);
      stages.push({ base, name, instructions: [] });
    } else stages.at(-1)?.instructions.push({ word, rest });
  }
  return stages;
}

/** Start configuration of a container. */
export type Start = {
  readonly folder: string;
  readonly user: string;
  readonly variables: Readonly<Record<string, string>>;
  readonly entrypoint: readonly string[];
  /** Default arguments of the entry point. */
  readonly command: readonly string[];
};

/** Start configuration from the instructions of a stage. */
export function startOf({ instructions }: Stage): Start {
  const last = (word: string) => instructions.findLast((each) => each.word === word)?.rest ?? '';
  const variables = instructions
    .filter(({ word }) => word === 'ENV')
    .flatMap(({ rest }) => rest.split(' ').map((pair) => pair.split('=')))
    .map(([name = '', value = '']) => [name, value] as const);
  return {
    folder: last('WORKDIR'),
    user: last('USER'),
    variables: Object.fromEntries(variables),
    entrypoint: JSON.parse(last('ENTRYPOINT')),
    command: JSON.parse(last('CMD') || '[]'),
  };
}
