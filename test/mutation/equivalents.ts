import { globSync, readFileSync } from 'node:fs';
import { type Mutant, nameOf } from '#test/mutation/mutant';

/** Mutants that a person judged equivalent to the code, with the reason. */
export type Judgement = {
  readonly reason: string;
  readonly mutants: readonly Pick<Mutant, 'file' | 'within' | 'was' | 'becomes'>[];
};

/** Reads all judgements. */
export function judgements(): Judgement[] {
  return globSync('test/mutation/equivalent/*.json')
    .sort()
    .flatMap((file) => JSON.parse(readFileSync(file, 'utf8')) as Judgement[]);
}

/** Reasons of all equivalent mutants, by mutant name. */
export function reasonsByName(): Map<string, string> {
  return new Map(
    judgements().flatMap(({ reason, mutants }) =>
      mutants.map((mutant) => [nameOf(mutant as Mutant), reason]),
    ),
  );
}
